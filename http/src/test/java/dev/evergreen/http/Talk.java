package dev.evergreen.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.fibers.CancelScope;
import dev.evergreen.fibers.Connection;
import dev.evergreen.fibers.Fibers;
import dev.evergreen.fibers.MemoryPair;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/** Talks with servers and clients by bytes, over connections in memory. */
final class Talk {
  static final Fibers FIBERS = Fibers.builder().name("talk").processors(2).start();

  private Talk() {}

  static byte[] bytes(String text) {
    return text.getBytes(ISO_8859_1);
  }

  /** All that a server answers to some bytes, and then to their end. */
  static String answer(Handler handler, String sent) throws Exception {
    return answer(handler, HttpSettings.DEFAULT, sent, MemoryPair.CAPACITY);
  }

  static String answer(Handler handler, HttpSettings settings, String sent, int piece)
      throws Exception {
    try (var pair = MemoryPair.of(FIBERS, MemoryPair.CAPACITY, piece)) {
      var served = serve(handler, settings, pair.far());
      var writer =
          start(
              () -> {
                write(pair.near(), sent);
                pair.near().shutdownOutput();
                return 0;
              });
      var answer = all(pair.near());
      served.join();
      writer.exceptionally(_ -> 0).join();
      return answer;
    }
  }

  /** Serves a connection by a fiber, until it has ended. */
  static CompletableFuture<Integer> serve(
      Handler handler, HttpSettings settings, Connection connection) {
    return serve(handler, settings, connection, CancelScope.open());
  }

  static CompletableFuture<Integer> serve(
      Handler handler, HttpSettings settings, Connection connection, CancelScope draining) {
    var server = new HttpServer(FIBERS, handler, settings);
    return start(
        () -> {
          try (connection) {
            server.serve(connection, draining);
            connection.flush();
          } catch (IOException e) {
            connection.reset();
          }
          return 0;
        });
  }

  /** Does something by a fiber. */
  static <T> CompletableFuture<T> start(Callable<T> task) {
    var result = new CompletableFuture<T>();
    FIBERS.spawn(
        () -> {
          try {
            result.complete(task.call());
          } catch (Throwable e) {
            result.completeExceptionally(e);
          }
        });
    return result;
  }

  static void write(Connection to, String text) throws IOException {
    to.write(bytes(text));
    to.flush();
  }

  /** All that comes until the end; a reset appears as [reset]. */
  static String all(Connection from) {
    var all = new ByteArrayOutputStream();
    var into = ByteBuffer.allocate(4096);
    try {
      while (from.read(into.clear()) >= 0) {
        all.write(into.array(), 0, into.position());
      }
    } catch (IOException e) {
      return all.toString(ISO_8859_1) + "[reset]";
    }
    return all.toString(ISO_8859_1);
  }

  /** What comes until it ends with a text. */
  static String until(Connection from, String end) throws IOException {
    var text = new StringBuilder();
    var one = ByteBuffer.allocate(1);
    while (text.indexOf(end) < 0 && from.read(one.clear()) >= 0) {
      text.append((char) (one.get(0) & 0xff));
    }
    return text.toString();
  }

  /** A whole body, as text. */
  static String text(BodyReader body) throws IOException {
    var all = new ByteArrayOutputStream();
    var into = ByteBuffer.allocate(100);
    while (body.read(into.clear()) >= 0) {
      all.write(into.array(), 0, into.position());
    }
    return all.toString(ISO_8859_1);
  }

  /** Answers by what it was asked: method, target, authority, fields and body. */
  static void echo(Exchange exchange) throws IOException {
    var head = exchange.request();
    var body = text(exchange.body());
    var text =
        head.method()
            + " "
            + head.target()
            + " "
            + head.authority()
            + " "
            + head.path()
            + "|"
            + body
            + "|"
            + exchange.body().trailers();
    exchange.respond(ResponseHead.of(200), ByteBuffer.wrap(bytes(text)));
  }
}
