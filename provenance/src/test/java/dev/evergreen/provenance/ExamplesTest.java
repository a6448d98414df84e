package dev.evergreen.provenance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The specifications that the documentation shows, each against the definition, which the box
 * itself carries out.
 */
class ExamplesTest {
  private static final long SEED = Long.getLong("evergreen.oracle.seed", System.nanoTime());

  @Test
  void aKeepersAnswersAreExplainedFromWhatPassedARecorder() throws IOException {
    var trace = new MemoryTrace(new KeeperSpecification());
    try (var keeper = Keeper.serve(new Keeper()::answer);
        var upstream = new Socket(keeper.getInetAddress(), keeper.getLocalPort());
        var replies = Keeper.reader(upstream);
        var recorder = Keeper.serve(line -> recorded(trace, line, upstream, replies))) {
      try (var client = new Socket(recorder.getInetAddress(), recorder.getLocalPort());
          var answers = Keeper.reader(client)) {
        for (var line :
            List.of("PUT cart 1", "PUT cart 2", "ADD cart", "PUT desk 1", "DEL lamp", "GET cart")) {
          Keeper.ask(client, answers, line);
        }
      }
      // snippet keeper-why
      var why = new Why(trace.specification(), trace);
      var answer = why.ask(trace.operations().getLast(), Why.Wish.ALL);
      // end
      assertEquals(Bytes.of("3"), answer.reply());
      assertEquals(Answer.Certainty.CERTAIN, answer.certainty());
      assertEquals(
          List.of(List.of(2L, 3L)), answer.witnesses().stream().map(Witness::rows).toList());
    }
  }

  // snippet keeper-recorder
  private static String recorded(
      MemoryTrace trace, String line, Socket upstream, java.io.BufferedReader replies) {
    try {
      var sent = Instant.now();
      var reply = Keeper.ask(upstream, replies, line);
      trace.add(operation(trace.operations().size() + 1L, sent, line, reply));
      return reply;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Operation operation(long row, Instant sent, String line, String reply) {
    var words = Arrays.stream(line.split(" ", -1)).map(Bytes::of).toList();
    return new Operation(row, 1, 1, 1, "", sent, sent, words, Bytes.of(reply));
  }

  // end

  @Test
  void aKeeperIsSpecifiedAsTheDefinitionSays() {
    check(
        new KeeperSpecification(),
        () -> new Keeper()::answer,
        List.of("PUT a 1", "PUT a 2", "PUT b 1", "ADD a", "ADD b", "DEL a", "DEL b"),
        List.of("GET a", "GET b", "LIST *", "DEL a", "ADD a"));
  }

  @Test
  void aBalancerIsSpecifiedAsTheDefinitionSays() {
    check(
        new Examples.Balancer(),
        () -> {
          var state = new ArrayList<String>();
          return line -> {
            if (line.startsWith("BACKENDS ")) {
              state.clear();
              state.addAll(List.of(line.substring(9).split(" ", -1)));
              return "set";
            }
            if (state.isEmpty()) {
              return "none";
            }
            state.add(state.removeFirst());
            return state.getLast();
          };
        },
        List.of("BACKENDS x y", "BACKENDS x y z", "BACKENDS x", "GET", "GET", "GET"),
        List.of("GET"));
  }

  @Test
  void aStatelessServiceHasNoCauses() {
    check(
        new Examples.Stateless(),
        () -> line -> "" + line.length(),
        List.of("a", "bb"),
        List.of("ccc"));
  }

  @Test
  void filesAreSpecifiedAsTheDefinitionSays(@TempDir Path folder) {
    check(
        new Examples.Files(),
        () -> {
          delete(folder);
          return line -> file(folder, line);
        },
        List.of(
            "pwrite f 0 abcdefgh",
            "pwrite f 0 abcdefgh",
            "pwrite f 4 xyz",
            "pwrite f 8 12345678",
            "pwrite f 20 q",
            "ftruncate f 6",
            "ftruncate f 12",
            "unlink f"),
        List.of("pread f 0 8", "pread f 4 8", "pread f 8 2", "pread f 0 3", "pread f 0 99"));
  }

  private static void delete(Path folder) {
    try {
      Files.deleteIfExists(folder.resolve("f"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String file(Path folder, String line) {
    var words = line.split(" ", -1);
    var path = folder.resolve(words[1]);
    if (words[0].equals("unlink")) {
      delete(folder);
      return "0";
    }
    try (var file =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      long at = Long.parseLong(words[2]);
      switch (words[0]) {
        case "ftruncate" -> {
          if (at > file.size()) {
            file.write(ByteBuffer.allocate(1), at - 1);
          }
          file.truncate(at);
        }
        case "pwrite" ->
            file.write(
                ByteBuffer.wrap(words[3].getBytes(java.nio.charset.StandardCharsets.UTF_8)), at);
        default -> {
          var read = ByteBuffer.allocate(Integer.parseInt(words[3]));
          int size = Math.max(0, file.read(read, at));
          return new String(read.array(), 0, size, java.nio.charset.StandardCharsets.UTF_8);
        }
      }
      return "0";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs random histories on the box, all parts of each of them, and compares. */
  private static void check(
      Specification specification,
      Supplier<UnaryOperator<String>> fresh,
      List<String> steps,
      List<String> questions) {
    var exact = specification.model().isPresent();
    for (long seed = SEED; seed < SEED + 60; seed++) {
      var random = new Random(seed);
      var history =
          random.ints(1 + random.nextInt(6), 0, steps.size()).mapToObj(steps::get).toList();
      var question = questions.get(random.nextInt(questions.size()));
      var trace = new MemoryTrace(specification);
      var box = fresh.get();
      history.forEach(
          line ->
              trace.add(
                  operation(trace.operations().size() + 1L, Instant.EPOCH, line, box.apply(line))));
      var asked = operation(99, Instant.EPOCH, question, box.apply(question));
      var answers = new ArrayList<>();
      for (int part = 0; part < 1 << history.size(); part++) {
        var store = fresh.get();
        for (int i = 0; i < history.size(); i++) {
          if ((part & (1 << i)) != 0) {
            var _ = store.apply(history.get(i));
          }
        }
        var answer = operation(99, Instant.EPOCH, question, store.apply(question));
        answers.add(
            specification
                .model()
                .map(model -> model.reply(answer))
                .orElseGet(() -> String.valueOf(answer.reply())));
      }
      var name = "-Devergreen.oracle.seed=" + seed + ": " + history + " ; " + question;
      var definition = new Definition(answers);
      var why = new Why(specification, trace);
      assertTrue(
          definition.isClosed(
              Set.copyOf(why.ask(asked, Why.Wish.ONE).witnesses().getFirst().rows())),
          name);
      if (exact) {
        var found =
            why.ask(asked, Why.Wish.ALL).witnesses().stream()
                .map(witness -> Set.copyOf(witness.rows()))
                .collect(Collectors.toSet());
        assertEquals(definition.witnesses(), found, name);
      }
    }
  }
}
