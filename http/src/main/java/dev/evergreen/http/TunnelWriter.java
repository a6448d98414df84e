package dev.evergreen.http;

import dev.evergreen.fibers.Connection;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** Writes the bytes of a connection that has left HTTP. */
record TunnelWriter(Connection connection) implements BodyWriter {

  @Override
  public void write(ByteBuffer from) throws IOException {
    connection.write(from);
  }

  @Override
  public void write(FileChannel file, long position, long count) throws IOException {
    connection.write(file, position, count);
  }

  @Override
  public void flush() throws IOException {
    connection.flush();
  }

  @Override
  public void end(Fields trailers) throws IOException {
    connection.shutdownOutput();
  }

  @Override
  public void abort() {
    connection.reset();
  }
}
