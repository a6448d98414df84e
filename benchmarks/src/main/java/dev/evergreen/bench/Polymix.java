package dev.evergreen.bench;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.evergreen.bench.Figure.Panel;
import dev.evergreen.bench.Figure.Point;
import dev.evergreen.bench.Figure.Series;
import dev.evergreen.bench.load.ServerProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Phaser;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * A workload after Polymix-3: what is asked for and how large it is follows from a number, so that
 * the origin and the clients agree. Requests come at a constant rate, whether the former ones are
 * answered or not, and times count from when each was to be sent.
 *
 * <p>Of all requests 72.4 % are for something that was asked for before, a tenth of these for a
 * hundredth of it; with what may not be kept that offers a hit ratio of 55 %. The origin thinks for
 * a normally distributed time, a tenth of Polymix-3's, as the plateaus are much shorter, too.
 */
final class Polymix implements AutoCloseable {
  private static final double RECURRENCE = 0.724;
  private static final double HOT_SHARE = 0.1;
  private static final double HOT_PART = 0.01;
  private static final double THINK_MILLIS = 250;
  private static final double THINK_DEVIATION = 100;
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final String MADE = "X-Made";

  /** What was found at one rate. */
  record Result(
      String server, int rate, double hits, double all, double ofHits, double ofMisses, int lost) {}

  private record Answer(double millis, boolean hit) {}

  /** A kind of object, by its share, its mean size, its share that may be kept, and its spread. */
  private enum Kind {
    IMAGE(0.65, 4.5, 0.8, false),
    HTML(0.15, 8.5, 0.9, false),
    DOWNLOAD(0.005, 300, 0.95, true),
    OTHER(0.195, 25, 0.72, true);

    private final double share;
    private final double kilobytes;
    private final double kept;
    private final boolean lognormal;

    Kind(double share, double kilobytes, double kept, boolean lognormal) {
      this.share = share;
      this.kilobytes = kilobytes;
      this.kept = kept;
      this.lognormal = lognormal;
    }
  }

  /** What an object is like, by its number. */
  private record Thing(int size, boolean kept) {
    static Thing of(long number) {
      var random = new SplittableRandom(number * 0x9E3779B97F4A7C15L);
      double drawn = random.nextDouble();
      var kind = Kind.OTHER;
      for (var each : Kind.values()) {
        drawn -= each.share;
        if (drawn < 0) {
          kind = each;
          break;
        }
      }
      double size =
          kind.lognormal
              ? kind.kilobytes * Math.exp(0.8 * random.nextGaussian() - 0.32)
              : -kind.kilobytes * Math.log(1 - random.nextDouble());
      return new Thing((int) Math.max(100, 1024 * size), random.nextDouble() < kind.kept);
    }
  }

  private final int seconds;
  private final HttpServer origin;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private int runs;

  /**
   * Starts the origin.
   *
   * @param seconds how long each rate is kept
   */
  Polymix(int seconds) throws IOException {
    this.seconds = seconds;
    origin = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1024);
    origin.setExecutor(threads);
    origin.createContext("/", Polymix::answer);
    origin.start();
  }

  int port() {
    return origin.getAddress().getPort();
  }

  private static void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      var path = exchange.getRequestURI().getPath();
      var thing = Thing.of(Long.parseLong(path.substring(path.lastIndexOf('/') + 1)));
      var think = THINK_MILLIS + THINK_DEVIATION * new SplittableRandom().nextGaussian();
      Thread.sleep(Duration.ofNanos((long) (1e6 * Math.max(0, think))));
      var headers = exchange.getResponseHeaders();
      headers.set("Cache-Control", thing.kept ? "max-age=36000" : "no-store");
      headers.set(MADE, Long.toString(System.nanoTime()));
      exchange.sendResponseHeaders(200, thing.size);
      exchange.getResponseBody().write(new byte[thing.size]);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Asks a proxy at a rate; the first third of the time fills its cache and does not count. */
  Result run(ServerProcess server, int rate) throws InterruptedException {
    var random = new SplittableRandom(7);
    var answers = new ConcurrentLinkedQueue<Answer>();
    var base = "http://127.0.0.1:" + server.port() + "/" + runs++ + "/";
    int count = rate * seconds;
    int lost;
    var busy = new Phaser(1);
    try (var client = HttpClient.newBuilder().executor(threads).build()) {
      long begin = System.nanoTime();
      long known = 0;
      for (int i = 0; i < count; i++) {
        long number =
            known == 0 || random.nextDouble() >= RECURRENCE ? known++ : again(random, known);
        long intended = begin + (long) (1e9 * i / rate);
        Thread.sleep(Duration.ofNanos(Math.max(0, intended - System.nanoTime())));
        boolean counts = i >= count / 3;
        busy.register();
        threads.execute(() -> ask(client, base + number, intended, counts, answers, busy));
      }
      busy.arriveAndAwaitAdvance();
      lost = count - count / 3 - answers.size();
    }
    return result(server.name(), rate, answers, lost);
  }

  private static long again(SplittableRandom random, long known) {
    double part = random.nextDouble() < HOT_SHARE ? HOT_PART : 1;
    return random.nextLong(Math.max(1, (long) (part * known)));
  }

  private static void ask(
      HttpClient client,
      String uri,
      long intended,
      boolean counts,
      Queue<Answer> answers,
      Phaser busy) {
    try {
      var response =
          client.send(
              HttpRequest.newBuilder(URI.create(uri))
                  .version(HttpClient.Version.HTTP_1_1)
                  .timeout(PATIENCE)
                  .build(),
              BodyHandlers.discarding());
      long made = response.headers().firstValueAsLong(MADE).orElse(intended);
      if (counts && response.statusCode() == 200) {
        answers.add(new Answer((System.nanoTime() - intended) / 1e6, made - intended < 0));
      }
    } catch (IOException e) {
      // It is missing among the answers, and so counts as lost.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      busy.arriveAndDeregister();
    }
  }

  private static Result result(String server, int rate, Queue<Answer> answers, int lost) {
    return new Result(
        server,
        rate,
        answers.stream().mapToDouble(a -> a.hit() ? 100 : 0).average().orElse(0),
        mean(answers.stream()),
        mean(answers.stream().filter(Answer::hit)),
        mean(answers.stream().filter(a -> !a.hit())),
        lost);
  }

  private static double mean(Stream<Answer> answers) {
    return answers.mapToDouble(Answer::millis).average().orElse(0);
  }

  /** A line for each rate and value, ours beside that of the other. */
  static List<Line> lines(List<Result> found) {
    var lines = new ArrayList<Line>();
    for (int i = 0; i + 1 < found.size(); i += 2) {
      var ours = found.get(i);
      var theirs = found.get(i + 1);
      var what = "workload at " + ours.rate() + "/s: ";
      lines.add(line(what + "hits (55 offered)", "%", ours, theirs, Result::hits));
      lines.add(line(what + "response time", "ms", ours, theirs, Result::all));
      lines.add(line(what + "of a hit", "ms", ours, theirs, Result::ofHits));
      lines.add(line(what + "of a miss", "ms", ours, theirs, Result::ofMisses));
      lines.add(Line.alone(what + "lost", "requests", List.of((double) ours.lost())));
    }
    return lines;
  }

  private static Line line(
      String what, String unit, Result ours, Result theirs, ToDoubleFunction<Result> value) {
    return Line.compared(
        what,
        unit,
        List.of(value.applyAsDouble(ours)),
        theirs.server(),
        List.of(value.applyAsDouble(theirs)));
  }

  /** Response times and hit ratios against the offered rate. */
  static Figure figure(List<Result> found) {
    return new Figure(
        2,
        false,
        List.of(
            panel("Response time", "ms", found, Result::all),
            panel("Hit ratio (55 % offered)", "%", found, Result::hits),
            panel("Time of a hit", "ms", found, Result::ofHits),
            panel("Time of a miss", "ms", found, Result::ofMisses)));
  }

  private static Panel panel(
      String title, String unit, List<Result> found, ToDoubleFunction<Result> value) {
    var series =
        found.stream()
            .map(Result::server)
            .distinct()
            .map(
                server ->
                    new Series(
                        server,
                        found.stream()
                            .filter(each -> each.server().equals(server))
                            .map(each -> new Point(each.rate(), value.applyAsDouble(each)))
                            .toList()))
            .toList();
    return new Panel(title, "requests a second", unit, false, false, series);
  }

  @Override
  public void close() {
    origin.stop(0);
    threads.close();
  }
}
