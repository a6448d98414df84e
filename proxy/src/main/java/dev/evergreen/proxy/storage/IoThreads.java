package dev.evergreen.proxy.storage;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A few threads of the system that wait for the disk, so that no processor of the fibers does. The
 * calling fiber waits for its result meanwhile.
 */
final class IoThreads implements AutoCloseable {
  @FunctionalInterface
  interface Work<T> {
    T run() throws IOException;
  }

  private final ExecutorService threads;

  IoThreads(int count) {
    threads =
        Executors.newFixedThreadPool(
            count, Thread.ofPlatform().daemon().name("storage-io-", 0).factory());
  }

  <T> T call(Work<T> work) throws IOException {
    var result = new CompletableFuture<T>();
    threads.execute(
        () -> {
          try {
            result.complete(work.run());
          } catch (Throwable e) {
            result.completeExceptionally(e);
          }
        });
    return await(result);
  }

  /** Waits for a result, whatever interrupts: who is interrupted learns it later. */
  static <T> T await(CompletableFuture<T> result) throws IOException {
    try {
      return result.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof IOException failure) {
        throw new IOException(failure.getMessage(), failure);
      }
      if (e.getCause() instanceof UncheckedIOException failure) {
        throw new IOException(failure.getMessage(), failure);
      }
      throw e;
    }
  }

  @Override
  public void close() {
    threads.close();
  }
}
