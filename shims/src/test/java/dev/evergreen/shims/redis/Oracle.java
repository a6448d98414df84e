package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Definition;
import dev.evergreen.provenance.MemoryTrace;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Witness;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The definition of wat-provenance, carried out on a real Redis: every subtrace of a short history
 * is run, and those that are closed and minimal are kept.
 */
final class Oracle {
  private static final List<Bytes> EMPTY = words("FLUSHALL");

  private final Pipeline redis;
  private final RedisSpecification specification;

  Oracle(Pipeline redis, RedisSpecification specification) {
    this.redis = redis;
    this.specification = specification;
  }

  static List<Bytes> words(String command) {
    return Arrays.stream(command.split(" ", -1)).map(Bytes::of).toList();
  }

  /**
   * A history as it was recorded, and what the definition says of its last answer.
   *
   * @param tick the number of the element that is the passing of time, counted like rows; 0 if
   *     there is none
   */
  record Verdict(MemoryTrace trace, Operation question, int tick, Definition definition) {
    /** The numbers of a witness's elements. */
    Set<Long> elements(Witness witness) {
      return witness.elements().stream()
          .map(
              element ->
                  element instanceof Witness.Done(var operation)
                      ? (Long) operation.row()
                      : (Long) (long) tick)
          .collect(Collectors.toSet());
    }
  }

  /**
   * Runs the steps, each of which is one command or, if it has several, a transaction, and asks.
   */
  Verdict judge(List<List<String>> steps, String question) {
    var all = new ArrayList<>(steps);
    all.add(List.of(question));
    var operations = record(all);
    var asked = operations.removeLast();
    return verdict(operations, asked, 0, replies(operations, asked));
  }

  /** Of a history that was recorded elsewhere, with rows from 1 on. */
  Verdict judge(List<Operation> operations, Operation question) {
    return verdict(operations, question, 0, replies(operations, question));
  }

  private Verdict verdict(
      List<Operation> operations, Operation question, int tick, List<Bytes> replies) {
    var trace = new MemoryTrace(specification);
    operations.forEach(trace::add);
    var answers =
        replies.stream()
            .map(reply -> specification.reply(answered(question, withoutRest(question, reply))))
            .toList();
    return new Verdict(trace, question, tick, new Definition(answers));
  }

  /**
   * The step that is the passing of time: all deadlines that were set before have passed after it.
   * Deadlines are {@link #PATIENCE} milliseconds ahead.
   */
  static final String TICK = "TICK";

  static final long PATIENCE = 2000;

  /** So far ahead are deadlines that are set behind the tick. */
  static final long LONGER = 20_000;

  private static final long SLACK = 500;

  /** The deadlines of histories that are far ahead, whatever passes. */
  private static final List<Long> MOMENTS = List.of(32_000_000_000_000L, 33_000_000_000_000L);

  /**
   * A history with deadlines, to be run beside others: its steps are single commands, one of them
   * {@link #TICK}.
   */
  record Timed(List<String> steps, String question) {}

  /**
   * Runs all subtraces of all histories side by side, each in a database of its own, so that time
   * passes once for all. Empty if the machine was too slow for that.
   */
  List<Verdict> judge(List<Timed> histories) {
    redis.send(List.of(EMPTY));
    var still = pass(histories, false);
    redis.send(List.of(EMPTY));
    var passed = pass(histories, true);
    if (still.isEmpty() || passed.isEmpty()) {
      return List.of();
    }
    var verdicts = new ArrayList<Verdict>();
    for (int h = 0; h < histories.size(); h++) {
      verdicts.add(verdict(histories.get(h), still.get(h), passed.get(h)));
    }
    return verdicts;
  }

  /**
   * The replies of each history and each subtrace: of all its commands, the question's last. Those
   * with the tick or those without, the tick being the highest bit here.
   */
  private List<List<List<Bytes>>> pass(List<Timed> histories, boolean ticks) {
    var first = List.of(words("SET guard 1 PX " + PATIENCE));
    var last = List.of(words("EXISTS guard"));
    var replies = new ArrayList<List<List<Bytes>>>();
    for (int phase = 0; phase < 2; phase++) {
      var commands = new ArrayList<>(first);
      var counts = new ArrayList<int[]>();
      int database = 0;
      for (int h = 0; h < histories.size(); h++) {
        int masks = 1 << (histories.get(h).steps().size() - 1);
        for (int mask = 0; mask < masks; mask++) {
          commands.add(words("SELECT " + ++database));
          int before = commands.size();
          addPhase(histories.get(h), mask, phase, commands);
          counts.add(new int[] {h, mask, commands.size() - before});
        }
      }
      commands.add(words("SELECT 0"));
      commands.addAll(last);
      commands.add(words("SET end 1 PX " + PATIENCE));
      var all = Resp.split(redis.send(commands));
      if (!all.get(all.size() - 2).equals(Bytes.of(":1\r\n"))) {
        return List.of();
      }
      int next = 1;
      for (var count : counts) {
        while (replies.size() <= count[0]) {
          replies.add(new ArrayList<>());
        }
        var ofHistory = replies.get(count[0]);
        while (ofHistory.size() <= count[1]) {
          ofHistory.add(new ArrayList<>());
        }
        next++;
        ofHistory.get(count[1]).addAll(all.subList(next, next + count[2]));
        next += count[2];
      }
      while (ticks
          && phase == 0
          && redis.send(List.of(words("EXISTS end"))).equals(Bytes.of(":1\r\n"))) {
        java.util.concurrent.locks.LockSupport.parkNanos(20_000_000);
      }
    }
    return replies;
  }

  /** The commands of a subtrace before the tick or after it, with the question at the end. */
  private static void addPhase(Timed history, int mask, int phase, List<List<Bytes>> commands) {
    int tick = history.steps().indexOf(TICK);
    int bit = 0;
    for (int i = 0; i < history.steps().size(); i++) {
      if (i != tick && (mask & 1 << bit++) != 0 && (i > tick) == (phase == 1)) {
        commands.add(words(history.steps().get(i)));
      }
    }
    if (phase == 1) {
      if (history.question().equals("DBSIZE")) {
        // Redis removes what has expired when it comes by it, and counts it until then.
        commands.add(words("SCAN 0 COUNT 1000"));
      }
      commands.add(words(history.question()));
    }
  }

  private Verdict verdict(Timed history, List<List<Bytes>> still, List<List<Bytes>> passed) {
    int n = history.steps().size();
    int tick = history.steps().indexOf(TICK);
    int most = (1 << (n - 1)) - 1;
    var operations = new ArrayList<Operation>();
    var recorded = passed.get(most);
    for (int i = 0; i <= n; i++) {
      if (i != tick) {
        var command = words(i < n ? history.steps().get(i) : history.question());
        // Before the last there may be one that is not of the history.
        var reply = i < n ? recorded.get(operations.size()) : recorded.getLast();
        var time = Instant.EPOCH.plusMillis(i > tick ? PATIENCE + 1 : 0);
        var operation = new Operation(i + 1L, 1, 1, 1, "0", time, time, command, reply);
        operations.add(answered(operation, withoutRest(operation, reply)));
      }
    }
    var replies = new ArrayList<Bytes>();
    for (int mask = 0; mask < 1 << n; mask++) {
      int low = mask & ((1 << tick) - 1);
      int rest = low | ((mask >> 1) & ~((1 << tick) - 1));
      replies.add(((mask & 1 << tick) != 0 ? passed : still).get(rest).getLast());
    }
    return verdict(operations, operations.removeLast(), tick + 1, replies);
  }

  /**
   * What is left of a deadline, or when it is, as if no time but that of {@link #TICK} had passed:
   * the parts of a history are run one after the other, and time goes by meanwhile.
   */
  private static Bytes withoutRest(Operation question, Bytes reply) {
    var name = question.request().getFirst().text();
    boolean absolute = name.endsWith("EXPIRETIME");
    if (!(absolute || name.endsWith("TTL"))
        || !(Resp.read(reply) instanceof Long told)
        || told <= 0) {
      return reply;
    }
    int unit = name.startsWith("P") ? 1 : 1000;
    long now = Instant.now().toEpochMilli();
    long moment = moment(told * unit + (absolute ? 0 : now), now, question.sent().toEpochMilli());
    long left = absolute ? moment : Math.max(0, moment - question.sent().toEpochMilli());
    return moment == 0 ? reply : Bytes.of(":" + (left + unit / 2) / unit + "\r\n");
  }

  /** The deadline of a history that this one must be, where it is asked for at some time; or 0. */
  private static long moment(long deadline, long now, long asked) {
    for (long far : MOMENTS) {
      if (Math.abs(deadline - far) < LONGER) {
        return far;
      }
    }
    long left = deadline - now;
    return left <= PATIENCE + SLACK ? PATIENCE : left <= LONGER + SLACK ? asked + LONGER : 0;
  }

  private List<Operation> record(List<List<String>> steps) {
    var commands = new ArrayList<>(List.of(EMPTY));
    steps.forEach(step -> commands.addAll(script(step)));
    var sent = Instant.now();
    var replies = Resp.split(redis.send(commands));
    var replied = Instant.now();
    var operations = new ArrayList<Operation>();
    int next = 1;
    for (var step : steps) {
      long row = operations.size() + 1L;
      int length = script(step).size();
      var reply = replies.get(next + length - 1);
      next += length;
      if (step.size() == 1) {
        operations.add(operation(row, sent, replied, step.getFirst(), reply));
      } else {
        var elements = Resp.elements(reply);
        var parts = new ArrayList<Operation>();
        for (int i = 0; i < step.size(); i++) {
          parts.add(operation(row, sent, replied, step.get(i), elements.get(i)));
        }
        operations.add(operation(row, sent, replied, "EXEC", reply).with(parts));
      }
    }
    return operations;
  }

  private static List<List<Bytes>> script(List<String> step) {
    if (step.size() == 1) {
      return List.of(words(step.getFirst()));
    }
    var script = new ArrayList<>(List.of(words("MULTI")));
    step.forEach(command -> script.add(words(command)));
    script.add(words("EXEC"));
    return script;
  }

  private static Operation operation(
      long row, Instant sent, Instant replied, String command, Bytes reply) {
    return new Operation(row, 1, 1, 1, "0", sent, replied, words(command), reply);
  }

  /** The answer after each subtrace, which is a set of bits. */
  private List<Bytes> replies(List<Operation> operations, Operation question) {
    int n = operations.size();
    var commands = new ArrayList<List<Bytes>>();
    var places = new int[1 << n];
    for (int mask = 0; mask < 1 << n; mask++) {
      commands.add(EMPTY);
      for (int i = 0; i < n; i++) {
        if ((mask & 1 << i) != 0) {
          replay(operations.get(i), commands);
        }
      }
      places[mask] = commands.size();
      commands.add(question.request());
    }
    var replies = Resp.split(redis.send(commands));
    return Arrays.stream(places).mapToObj(replies::get).toList();
  }

  private static Operation answered(Operation question, Bytes reply) {
    return new Operation(
        question.row(),
        1,
        1,
        1,
        "0",
        question.sent(),
        question.replied(),
        question.request(),
        reply);
  }

  /** What was drawn at random is done again by its effect. */
  static void replay(Operation operation, List<List<Bytes>> commands) {
    if (!operation.parts().isEmpty()) {
      operation.parts().forEach(part -> replay(part, commands));
      return;
    }
    var words = operation.request();
    if (words.getFirst().equals(Bytes.of("SPOP"))) {
      var taken = Resp.read(java.util.Objects.requireNonNull(operation.reply()));
      var members =
          taken instanceof List<?> list
              ? list
              : taken instanceof Bytes ? List.of(taken) : List.of();
      if (!members.isEmpty()) {
        var removal = new ArrayList<>(List.of(Bytes.of("SREM"), words.get(1)));
        members.forEach(member -> removal.add((Bytes) member));
        commands.add(removal);
      }
    } else if (words.getFirst().equals(Bytes.of("XADD"))
        && words.contains(Bytes.of("*"))
        && Resp.read(java.util.Objects.requireNonNull(operation.reply())) instanceof Bytes id) {
      commands.add(words.stream().map(word -> word.equals(Bytes.of("*")) ? id : word).toList());
    } else {
      commands.add(words);
    }
  }
}
