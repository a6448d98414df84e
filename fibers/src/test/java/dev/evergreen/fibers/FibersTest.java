package dev.evergreen.fibers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(120)
class FibersTest {

  @Test
  void theBestModeIsChosen() {
    try (var fibers = Fibers.builder().start()) {
      assertEquals(Mode.PROCESSORS, fibers.mode());
    }
  }

  @Test
  void withoutTheFlagsTheJdkCarriesFibersAndTheLogSaysSoOnce() throws Exception {
    var output = ChildJvm.of(WithoutFlags.class).withoutFlags().run();
    assertTrue(output.contains("mode JDK"), output);
    assertEquals(2, output.split("--add-opens|--enable-native-access", -1).length, output);
  }

  /** Starts two runtimes where the flags are missing. */
  static final class WithoutFlags {
    public static void main(String[] args) throws Exception {
      for (int i = 0; i < 2; i++) {
        try (var fibers = Fibers.builder().start()) {
          System.out.println("mode " + Fiber.run(fibers, fibers::mode));
        }
      }
      try {
        Fibers.builder().mode(Mode.PROCESSORS).start();
      } catch (IllegalStateException e) {
        System.out.println("refused");
      }
    }
  }

  /** Seen: a proxy that was closed while a tunnel began printed a stack trace. */
  @ParameterizedTest
  @EnumSource
  void whoCannotStartAnotherAsAllEndsEndsWithoutAWord(Kind kind) throws Exception {
    var begun = new CountDownLatch(1);
    var refused = new AtomicBoolean();
    var escaped = new CompletableFuture<Throwable>();
    try (var fibers = kind.start()) {
      fibers.spawn(
          () -> {
            Thread.currentThread().setUncaughtExceptionHandler((_, e) -> escaped.complete(e));
            begun.countDown();
            try {
              Thread.sleep(Duration.ofDays(1));
            } catch (InterruptedException e) {
              refused.set(true);
              fibers.spawn(() -> {});
              refused.set(false);
            }
          });
      begun.await();
    }
    assertTrue(refused.get());
    assertFalse(escaped.isDone(), () -> "" + escaped.join());
  }

  @ParameterizedTest
  @EnumSource
  void aClosedRuntimeOfOthersIsAFault(Kind kind) throws Exception {
    var others = kind.start();
    others.close();
    var escaped = new CompletableFuture<Throwable>();
    try (var fibers = kind.start()) {
      fibers.spawn(
          () -> {
            Thread.currentThread().setUncaughtExceptionHandler((_, e) -> escaped.complete(e));
            others.spawn(() -> {});
          });
      assertInstanceOf(FibersClosedException.class, escaped.get());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFiberRunsAndIsJoined(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var ran = new AtomicBoolean();
      var fiber = fibers.spawn(() -> ran.set(true));
      fiber.join();
      assertTrue(ran.get());
      assertTrue(fiber.isVirtual());
      assertEquals(0, fibers.report().fibers());
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFiberThatFailsHarmsNoOther(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var told = new CompletableFuture<Throwable>();
      var fiber =
          fibers.spawn(
              () -> {
                Thread.currentThread().setUncaughtExceptionHandler((t, e) -> told.complete(e));
                throw new IllegalArgumentException("expected");
              });
      assertEquals("expected", Fiber.get(told).getMessage());
      fiber.join();
      assertEquals(1, Fiber.run(fibers, () -> 1));
    }
  }

  /** Such as one for which there is no memory. All fibers of the processor would stand. */
  @Test
  void anAlarmThatFailsEndsNoProcessor() throws Exception {
    try (var fibers = (ProcessorFibers) Kind.TWO_PROCESSORS.start()) {
      for (int i = 0; i < 2; i++) {
        var processor = fibers.place();
        var failed = new CountDownLatch(1);
        processor.alarm(
            System.nanoTime(),
            () -> {
              failed.countDown();
              throw new OutOfMemoryError("as the test wants it");
            });
        failed.await();
        var ran = new CountDownLatch(1);
        processor.alarm(System.nanoTime(), ran::countDown);
        ran.await();
        fibers.spawnAt(processor, () -> {}).join();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aTimerThatIsCancelledNeverRings(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var rung = new AtomicInteger();
      var never = fibers.schedule(Duration.ofDays(200_000), rung::incrementAndGet);
      var later = new CountDownLatch(1);
      var soon = fibers.schedule(Duration.ofMillis(1), later::countDown);
      later.await();
      assertFalse(soon.cancel());
      assertTrue(never.cancel());
      assertFalse(never.cancel());
      assertEquals(0, rung.get());
    }
  }

  @ParameterizedTest
  @EnumSource
  void anEarlierTimerShortensASleepThatHasBegun(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var late = fibers.schedule(Duration.ofDays(1), () -> {});
      var rung = new Semaphore(0);
      for (int i = 0; i < 20; i++) {
        fibers.schedule(Duration.ofMillis(1), rung::release);
        rung.acquire();
      }
      assertTrue(late.cancel());
    }
  }

  @ParameterizedTest
  @EnumSource
  void sleepingIsInterruptible(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      var told = new CompletableFuture<Boolean>();
      var fiber =
          fibers.spawn(
              () -> {
                try {
                  fibers.sleep(Duration.ofDays(1));
                } catch (InterruptedException e) {
                  told.complete(Thread.currentThread().isInterrupted());
                }
              });
      Fiber.awaitParked(fiber);
      fiber.interrupt();
      assertFalse(Fiber.get(told));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aFiberCannotCloseItsOwnRuntime(Kind kind) throws Exception {
    try (var fibers = kind.start()) {
      Runnable close = fibers::close;
      assertThrows(
          IllegalStateException.class,
          () -> Fiber.run(fibers, java.util.concurrent.Executors.callable(close)));
      assertEquals(1, Fiber.run(fibers, () -> 1));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aVirtualThreadThatAFiberMadeMayCloseTheRuntime(Kind kind) throws Exception {
    var fibers = kind.start();
    var closed = new CompletableFuture<Boolean>();
    fibers.spawn(
        () ->
            Thread.ofVirtual()
                .start(
                    () -> {
                      fibers.close();
                      closed.complete(true);
                    }));
    assertTrue(Fiber.get(closed));
    assertThrows(IllegalStateException.class, () -> fibers.spawn(() -> {}));
  }

  @ParameterizedTest
  @EnumSource
  void virtualThreadsThatFibersMadeOutliveTheRuntime(Kind kind) throws Exception {
    var goOn = new CountDownLatch(1);
    var ended = new CountDownLatch(1);
    try (var fibers = kind.start()) {
      Fiber.run(
          fibers,
          () ->
              Thread.ofVirtual()
                  .start(
                      () -> {
                        try {
                          goOn.await();
                          Thread.sleep(1);
                          ended.countDown();
                        } catch (InterruptedException e) {
                          throw new AssertionError(e);
                        }
                      }));
    }
    goOn.countDown();
    ended.await();
  }

  @Test
  void childrenOfFibersRunOnTheSameProcessors() throws Exception {
    try (var fibers = Kind.TWO_PROCESSORS.start()) {
      Fiber.run(
          fibers,
          () -> {
            var carrier = new CompletableFuture<Boolean>();
            Thread.ofVirtual().start(() -> carrier.complete(Processor.current() != null)).join();
            assertTrue(carrier.get());
            return 0;
          });
    }
  }

  @Test
  void theReportCountsWhatProcessorsDo() throws Exception {
    try (var fibers = Kind.ONE_PROCESSOR.start()) {
      var blocked = new Semaphore(0);
      Fiber.run(
          fibers,
          () -> {
            for (int i = 0; i < 10; i++) {
              fibers.spawn(blocked::acquireUninterruptibly);
            }
            var report = fibers.report();
            assertEquals(11, report.fibers());
            assertEquals(10, report.processors().getFirst().ready());
            assertTrue(report.processors().getFirst().oldestWait().isPositive());
            return 0;
          });
      blocked.release(10);
      while (fibers.report().fibers() > 0) {
        Thread.onSpinWait();
      }
      // All may have been ready before it came to sleep for the first time.
      var report = fibers.report().processors().getFirst();
      while (report.sleeps() == 0) {
        Thread.onSpinWait();
        report = fibers.report().processors().getFirst();
      }
      assertEquals(0, report.ready());
      assertEquals(Duration.ZERO, report.oldestWait());
      assertTrue(report.runs() >= 11);
      assertTrue(report.polls() > 0);
      assertEquals(0, report.steals());
      assertEquals(0, report.helps());
    }
  }

  @Test
  void stealsAndLongSleepsAreInAFlightRecording() throws Exception {
    var file = java.nio.file.Files.createTempFile("fibers", ".jfr");
    try (var recording = new Recording()) {
      recording.enable("dev.evergreen.ProcessorSteal");
      recording.enable("dev.evergreen.ProcessorSleep").withThreshold(Duration.ofNanos(1));
      recording.start();
      new FairnessTest().idleProcessorsTakeFibersFromABusyOne();
      recording.stop();
      recording.dump(file);
      var names =
          RecordingFile.readAllEvents(file).stream().map(e -> e.getEventType().getName()).toList();
      assertTrue(names.contains("dev.evergreen.ProcessorSteal"), names::toString);
      assertTrue(names.contains("dev.evergreen.ProcessorSleep"), names::toString);
    } finally {
      java.nio.file.Files.delete(file);
    }
  }

  @Test
  void whatProcessorsDoIsInAFlightRecordingUntilTheRuntimeIsClosed() throws Exception {
    var file = java.nio.file.Files.createTempFile("fibers", ".jfr");
    try (var recording = new Recording()) {
      recording.enable("dev.evergreen.Processor").with("period", "endChunk");
      recording.start();
      try (var open = Fibers.builder().name("open").processors(2).mode(Mode.PROCESSORS).start()) {
        Fibers.builder().name("closed").mode(Mode.PROCESSORS).start().close();
        open.spawn(() -> {}).join();
        recording.stop();
      }
      recording.dump(file);
      var events =
          RecordingFile.readAllEvents(file).stream()
              .filter(e -> e.getEventType().getName().equals("dev.evergreen.Processor"))
              .toList();
      var processors = events.stream().map(e -> e.getString("processor")).toList();
      assertEquals(List.of("open-0", "open-1"), processors);
      assertTrue(events.stream().mapToLong(e -> e.getLong("runs")).sum() > 0);
    } finally {
      java.nio.file.Files.delete(file);
    }
  }

  @Test
  void whatCannotBeIsRefused() {
    var builder = Fibers.builder();
    assertThrows(IllegalArgumentException.class, () -> builder.processors(0));
    assertThrows(IllegalArgumentException.class, () -> builder.processors(2000));
    assertThrows(IllegalArgumentException.class, () -> builder.ageBound(Duration.ZERO));
    assertThrows(IllegalArgumentException.class, () -> SocketOptions.DEFAULT.withBacklog(0));
    try (var fibers = builder.start()) {
      assertThrows(
          java.net.UnknownHostException.class,
          () -> fibers.listen(java.net.InetSocketAddress.createUnresolved("nowhere.invalid", 0)));
      assertThrows(
          java.io.IOException.class,
          () -> fibers.listen(java.net.UnixDomainSocketAddress.of("x".repeat(200))));
    }
  }
}
