package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What connections in memory can do beyond the behaviour that all connections share. */
@Timeout(60)
class MemoryPairTest {

  @ParameterizedTest
  @EnumSource(names = {"TWO_PROCESSORS", "JDK"})
  void aCutPassesJustTheBytesBeforeIt(Kind kind) throws Exception {
    var message = Pair.bytes("some message");
    try (var fibers = kind.start()) {
      for (int cut = 0; cut < message.length; cut++) {
        try (var pair = MemoryPair.of(fibers, 5, 3)) {
          pair.cutAfter(cut);
          var write =
              Fiber.start(
                  fibers,
                  () -> {
                    pair.near().write(message);
                    pair.near().flush();
                    return 0;
                  });
          var received = new StringBuilder();
          assertThrows(
              IOException.class,
              () ->
                  Fiber.run(
                      fibers,
                      () -> {
                        while (true) {
                          var text = Pair.read(pair.far(), 1);
                          assertEquals(1, text.length(), "a cut is no end");
                          received.append(text);
                        }
                      }));
          assertEquals("some message".substring(0, cut), received.toString());
          assertThrows(IOException.class, () -> Fiber.get(write));
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"TWO_PROCESSORS", "JDK"})
  void aWriterWaitsForRoomAndAReadBringsNoMoreThanAPiece(Kind kind) throws Exception {
    try (var fibers = kind.start();
        var pair = MemoryPair.of(fibers, 10, 4)) {
      var written =
          Fiber.startWaiting(
              fibers,
              () -> {
                pair.near().write(new byte[25]);
                pair.near().flush();
                return 0;
              });
      int left = 25;
      while (left > 0) {
        int n = Fiber.run(fibers, () -> pair.far().read(ByteBuffer.allocate(100)));
        assertTrue(n > 0 && n <= 4);
        left -= n;
      }
      Fiber.get(written);
    }
  }

  @Test
  void sizesMustBePositive() {
    try (var fibers = Kind.JDK.start()) {
      assertThrows(IllegalArgumentException.class, () -> MemoryPair.of(fibers, 0, 1));
      assertThrows(IllegalArgumentException.class, () -> MemoryPair.of(fibers, 1, 0));
    }
  }
}
