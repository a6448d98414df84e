package dev.evergreen.bench.polymix;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Asks a proxy at a constant rate, whether the former requests are answered or not; times count
 * from when each was to be sent. Each robot asks 0.4 times a second, so a rate is a number of
 * robots; who got a page asks for its images next.
 *
 * <p>Of all requests 72.4 % are for something that was asked for before, a tenth of these for a
 * hundredth of it; with what may not be kept that offers a hit ratio of 55 %. Of ten requests one
 * asks for what has changed since the last change, so that nothing has, and a half for what has
 * changed since the day before that; another half wants it anew.
 */
public final class Workload implements AutoCloseable {
  private static final double RECURRENCE = 0.724;
  private static final double HOT_SHARE = 0.1;
  private static final double HOT_PART = 0.01;
  private static final double ROBOT_RATE = 0.4;
  private static final double UNCHANGED = 0.10;
  private static final double CHANGED = 0.05;
  private static final double RELOADED = 0.05;

  /** What is asked for by itself, of all requests: the rest are images of pages. */
  private static final double ALONE = 0.387;

  private static final int FILLERS = 64;

  /** So many seconds before a change. */
  private static final long DAY = Duration.ofDays(1).toSeconds();

  private final int seconds;
  private final long workingSet;
  private final Origin origin = new Origin();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private int runs;

  /**
   * Starts the origin.
   *
   * @param seconds how long each rate is kept
   * @param peak the highest rate. The things that are asked for again are at most three quarters of
   *     those that are new at it: the newest
   */
  public Workload(int seconds, int peak) throws IOException {
    this.seconds = seconds;
    this.workingSet = (long) (0.75 * ALONE * (1 - RECURRENCE) * peak * seconds);
  }

  /** Where the origin listens, at the loopback address. */
  public int port() {
    return origin.port();
  }

  /**
   * Asks for what nobody asks for again, as fast as it is answered, so that a cache is full.
   *
   * @param bytes how many of what may be kept are asked for
   */
  public void fill(int port, long bytes) throws IOException, InterruptedException {
    origin.think(0);
    var base = "/" + runs++ + "/";
    var next = new AtomicLong();
    var still = new AtomicLong(bytes);
    var failed = new AtomicReference<@Nullable IOException>();
    var busy = new Phaser(1);
    for (int i = 0; i < FILLERS; i++) {
      busy.register();
      threads.execute(
          () -> {
            try (var robot = new Robot(port)) {
              while (still.get() > 0) {
                var thing = Thing.alone(next.getAndIncrement());
                var nature = thing.nature();
                if (nature.kept()) {
                  still.addAndGet(-nature.size());
                  var _ = robot.ask(base + thing.name(), "");
                }
              }
            } catch (IOException e) {
              failed.set(e);
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            } finally {
              busy.arriveAndDeregister();
            }
          });
    }
    busy.arriveAndAwaitAdvance();
    if (failed.get() != null) {
      throw new IOException("the cache was not filled", failed.get());
    }
  }

  /**
   * Asks at a rate; the first third of the time does not count.
   *
   * @param pace how long the origin thinks: 1 for the 2.5 s of Polymix-3
   */
  public Result run(String server, int port, int rate, double pace)
      throws IOException, InterruptedException {
    origin.think(pace);
    var run = new Run(port, "/" + runs++ + "/", rate);
    try {
      run.ask();
    } finally {
      run.close();
    }
    return run.result(server, pace);
  }

  /** One rate, for one proxy. */
  private final class Run {
    private final String base;
    private final int rate;
    private final List<Robot> robots = new ArrayList<>();

    /** The images of pages that each robot has to ask for. */
    private final List<Queue<Thing>> images = new ArrayList<>();

    private final SplittableRandom random = new SplittableRandom(7);
    private final Queue<Result.Answer> answers = new ConcurrentLinkedQueue<>();
    private long known;
    private int counted;

    Run(int port, String base, int rate) {
      this.base = base;
      this.rate = rate;
      for (int i = 0; i < rate / ROBOT_RATE; i++) {
        robots.add(new Robot(port));
        images.add(new ArrayDeque<>());
      }
    }

    void ask() throws InterruptedException {
      var busy = new Phaser(1);
      int count = rate * seconds;
      long begin = System.nanoTime();
      for (int i = 0; i < count; i++) {
        int robot = i % robots.size();
        var thing = next(images.get(robot));
        var lines = condition(thing.nature());
        long intended = begin + (long) (1e9 * i / rate);
        Thread.sleep(Duration.ofNanos(Math.max(0, intended - System.nanoTime())));
        boolean counts = i >= count / 3;
        counted += counts ? 1 : 0;
        busy.register();
        threads.execute(
            () -> {
              try {
                ask(robots.get(robot), thing, lines, intended, counts);
              } finally {
                busy.arriveAndDeregister();
              }
            });
      }
      busy.arriveAndAwaitAdvance();
    }

    private Thing next(Queue<Thing> images) {
      var image = images.poll();
      if (image != null) {
        return image;
      }
      boolean isNew = known == 0 || random.nextDouble() >= RECURRENCE;
      var thing = Thing.alone(isNew ? known++ : again());
      for (int i = 1; i <= thing.nature().images(); i++) {
        images.add(new Thing(thing.number(), i));
      }
      return thing;
    }

    /** One of the newest. */
    private long again() {
      long set = Math.min(known, workingSet);
      double part = random.nextDouble() < HOT_SHARE ? HOT_PART : 1;
      return known - set + random.nextLong(Math.max(1, (long) (part * set)));
    }

    private String condition(Thing.Nature nature) {
      double drawn = random.nextDouble();
      long modified = nature.modified(Instant.now().getEpochSecond());
      if (drawn < UNCHANGED) {
        return since(modified);
      }
      if (drawn < UNCHANGED + CHANGED) {
        return since(modified - DAY);
      }
      return drawn < UNCHANGED + CHANGED + RELOADED ? "Cache-Control: no-cache\r\n" : "";
    }

    private static String since(long seconds) {
      return "If-Modified-Since: " + Origin.date(seconds) + "\r\n";
    }

    private void ask(Robot robot, Thing thing, String lines, long intended, boolean counts) {
      try {
        var answer = robot.ask(base + thing.name(), lines);
        if (counts && (answer.status() == 200 || answer.status() == 304)) {
          double millis = (System.nanoTime() - intended) / 1e6;
          answers.add(new Result.Answer(millis, answer.made() < intended));
        }
      } catch (IOException e) {
        // It is missing among the answers, and so counts as lost.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    Result result(String server, double pace) {
      return Result.of(server, rate, pace, answers, counted - answers.size());
    }

    void close() throws IOException {
      for (var robot : robots) {
        robot.close();
      }
    }
  }

  @Override
  public void close() {
    origin.close();
    threads.close();
  }
}
