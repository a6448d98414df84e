package dev.evergreen.http;

import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Listener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.Supplier;

/** A server on a free port of this machine. */
record TestServer(Fibers fibers, Listener listener) implements AutoCloseable {

  static TestServer start(Handler handler) throws IOException {
    return start(handler, HttpSettings.DEFAULT, 0, 2);
  }

  static TestServer start(Handler handler, HttpSettings settings, int port, int processors)
      throws IOException {
    var fibers = Fibers.builder().name("http-test").processors(processors).start();
    var listener = fibers.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    var server = new HttpServer(fibers, handler, settings);
    fibers.spawn(() -> listener.serve(connection -> server.serve(connection, listener.draining())));
    return new TestServer(fibers, listener);
  }

  int port() {
    return ((InetSocketAddress) listener.address()).getPort();
  }

  @Override
  public void close() {
    fibers.close();
  }

  /**
   * Serves a response of some bytes from memory until it is ended: to be measured with wrk.
   * Arguments: port, length of the body, processors.
   */
  static void main(String[] arguments) throws Exception {
    int length = Integer.parseInt(arguments[1]);
    var kept = ByteBuffer.allocateDirect(length);
    var fields =
        """
        Date: Mon, 23 Nov 2026 05:00:00 GMT
        Content-Type: text/html
        Last-Modified: Mon, 23 Nov 2026 05:00:00 GMT
        ETag: "6924-400"
        Cache-Control: max-age=3600
        Accept-Ranges: bytes
        Via: 1.1 test
        Cache-Status: test; hit
        """
            .replace("\n", "\r\n")
            .getBytes(StandardCharsets.US_ASCII);
    var lines = ByteBuffer.allocateDirect(fields.length).put(fields).flip();
    Supplier<Fields> more = () -> Fields.of("Age", "12");
    var age = more.get().freeze();
    Handler handler =
        exchange -> {
          if (exchange.request().is("GET")) {
            exchange.respond(200, lines.duplicate(), age, kept.duplicate());
          } else {
            exchange.respond(ResponseHead.of(405), ByteBuffer.allocate(0));
          }
        };
    try (var server =
        start(
            handler,
            HttpSettings.DEFAULT,
            Integer.parseInt(arguments[0]),
            Integer.parseInt(arguments[2]))) {
      System.out.println("listening at " + server.port());
      Thread.currentThread().join();
    }
  }
}
