package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.MemoryTrace;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Witness;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** The definition of wat-provenance, carried out on a real Redis: every subtrace of a short history is run, and those that are closed and minimal are kept. */
final class Oracle {
  private static final List<Bytes> EMPTY = words("FLUSHALL");

  private final RealRedis redis;
  private final RedisSpecification specification;

  Oracle(RealRedis redis, RedisSpecification specification) {
    this.redis = redis;
    this.specification = specification;
  }

  static List<Bytes> words(String command) {
    return java.util.Arrays.stream(command.split(" ", -1)).map(Bytes::of).toList();
  }

  /** A history as it was recorded, and what the definition says of its last answer. */
  record Verdict(MemoryTrace trace, Operation question, boolean[] closed, Set<Set<Long>> minimal) {
    boolean isClosed(List<Long> rows) {
      return closed[rows.stream().mapToInt(row -> 1 << (row - 1)).sum()];
    }
  }

  /** Runs the steps, each of which is one command or, if it has several, a transaction, and asks. */
  Verdict judge(List<List<String>> steps, String question) {
    var all = new ArrayList<>(steps);
    all.add(List.of(question));
    var operations = record(all);
    var asked = operations.removeLast();
    var closed = closed(operations, asked);
    var trace = new MemoryTrace(specification);
    operations.forEach(trace::add);
    return new Verdict(trace, asked, closed, minimal(closed));
  }

  private List<Operation> record(List<List<String>> steps) {
    var commands = new ArrayList<>(List.of(EMPTY));
    steps.forEach(step -> commands.addAll(script(step)));
    var replies = Resp.split(redis.send(commands));
    var operations = new ArrayList<Operation>();
    int next = 1;
    for (var step : steps) {
      long row = operations.size() + 1L;
      int length = script(step).size();
      var reply = replies.get(next + length - 1);
      next += length;
      if (step.size() == 1) {
        operations.add(operation(row, step.getFirst(), reply));
      } else {
        var elements = Resp.elements(reply);
        var parts = new ArrayList<Operation>();
        for (int i = 0; i < step.size(); i++) {
          parts.add(operation(row, step.get(i), elements.get(i)));
        }
        operations.add(operation(row, "EXEC", reply).with(parts));
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

  private static Operation operation(long row, String command, Bytes reply) {
    var time = Instant.EPOCH.plusMillis(row);
    return new Operation(row, 1, 1, 1, "0", time, time, words(command), reply);
  }

  /** Whether each subtrace, as a set of bits, is a closed witness. */
  private boolean[] closed(List<Operation> operations, Operation question) {
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
    var expected = specification.reply(question);
    var closed = new boolean[1 << n];
    for (int mask = (1 << n) - 1; mask >= 0; mask--) {
      var reply = replies.get(places[mask]);
      boolean all = reply.equals(question.reply()) || specification.reply(answered(question, reply)).equals(expected);
      for (int i = 0; i < n && all; i++) {
        all = (mask & 1 << i) != 0 || closed[mask | 1 << i];
      }
      closed[mask] = all;
    }
    return closed;
  }

  private static Operation answered(Operation question, Bytes reply) {
    return new Operation(question.row(), 1, 1, 1, "0", question.sent(), question.replied(), question.request(), reply);
  }

  /** What was drawn at random is done again by its effect. */
  private static void replay(Operation operation, List<List<Bytes>> commands) {
    if (!operation.parts().isEmpty()) {
      operation.parts().forEach(part -> replay(part, commands));
      return;
    }
    var words = operation.request();
    if (words.getFirst().equals(Bytes.of("SPOP"))) {
      var taken = Resp.read(java.util.Objects.requireNonNull(operation.reply()));
      var members = taken instanceof List<?> list ? list : taken instanceof Bytes ? List.of(taken) : List.of();
      if (!members.isEmpty()) {
        var removal = new ArrayList<>(List.of(Bytes.of("SREM"), words.get(1)));
        members.forEach(member -> removal.add((Bytes) member));
        commands.add(removal);
      }
    } else {
      commands.add(words);
    }
  }

  private static Set<Set<Long>> minimal(boolean[] closed) {
    var minimal = new HashSet<Set<Long>>();
    for (int mask = 0; mask < closed.length; mask++) {
      boolean least = closed[mask];
      for (int bit = mask; bit != 0 && least; bit &= bit - 1) {
        least = !closed[mask & ~Integer.lowestOneBit(bit)];
      }
      if (least) {
        minimal.add(rows(mask));
      }
    }
    return minimal;
  }

  private static Set<Long> rows(int mask) {
    return java.util.stream.IntStream.range(0, 31).filter(bit -> (mask & 1 << bit) != 0).mapToObj(bit -> bit + 1L).collect(Collectors.toSet());
  }

  static Set<Long> rows(Witness witness) {
    return Set.copyOf(witness.rows());
  }
}
