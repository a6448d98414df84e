package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A buffer belongs to one borrower at a time. */
class BuffersTest {

  @ParameterizedTest
  @EnumSource
  void oneThatIsGivenBackTwiceIsNotLentToTwo(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      Fiber.run(
          fibers,
          () -> {
            var first = Buffers.borrow();
            first.close();
            first.close();
            try (var second = Buffers.borrow();
                var third = Buffers.borrow()) {
              assertNotSame(second.buffer(), third.buffer());
              first.close();
              try (var fourth = Buffers.borrow()) {
                assertNotSame(second.buffer(), fourth.buffer());
                assertNotSame(third.buffer(), fourth.buffer());
              }
            }
            assertThrows(IllegalStateException.class, first::buffer);
            return 0;
          });
    }
  }

  @ParameterizedTest
  @EnumSource
  void oneThatWasGivenBackIsLentAgainEmpty(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      Fiber.run(
          fibers,
          () -> {
            var first = Buffers.borrow();
            var buffer = first.buffer().put((byte) 1);
            first.close();
            try (var second = Buffers.borrow()) {
              assertSame(buffer, second.buffer());
              assertEquals(Buffers.SIZE, second.buffer().remaining());
            }
            return 0;
          });
    }
  }
}
