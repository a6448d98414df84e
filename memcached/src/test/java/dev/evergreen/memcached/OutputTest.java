package dev.evergreen.memcached;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.Fibers.Mode;
import dev.evergreen.fibers.SlowPeers;
import dev.evergreen.fibers.SocketOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** How replies come to lie in a connection's output. */
@Timeout(60)
class OutputTest {

  private record Quiet() implements Output.Log {
    @Override
    public boolean isOn() {
      return false;
    }

    @Override
    public void reply(String head) {}
  }

  private static Output newWorker() {
    return new Output(new Statistics(), new SlowPeers(), new SlowPeers(), new Quiet());
  }

  private static void writeAs(Output worker, Connection connection, String text)
      throws IOException {
    worker.attach(connection);
    worker.line(TextProtocol.bytes(text));
    worker.detach();
  }

  /** Seen by fuzzing: a turn's replies were sent as garbage if those of the turn before had not. */
  @ParameterizedTest
  @EnumSource
  void aWorkerGoesOnBehindWhatAnotherOneWrote(Mode mode) throws IOException {
    try (var fibers = Fibers.builder().mode(mode).start()) {
      var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
      var listener = fibers.listen(address, SocketOptions.DEFAULT);
      var worker = newWorker();
      fibers.spawn(
          () ->
              listener.serve(
                  connection -> {
                    writeAs(worker, connection, "one");
                    writeAs(worker, connection, "two");
                    writeAs(newWorker(), connection, "three");
                  }));
      try (var client = new Client(listener.address())) {
        assertEquals("one\r\ntwo\r\nthree\r\n", client.rest());
      }
    }
  }
}
