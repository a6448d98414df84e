package dev.evergreen.provenance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Short specifications of other kinds of boxes. */
final class Examples {
  private Examples() {}

  private static String word(Operation operation, int index) {
    return operation.request().get(index).text();
  }

  private static long number(Operation operation, int index) {
    return Long.parseLong(word(operation, index));
  }

  // snippet specification-of-stateless
  /** A service whose answer is a function of the request: nothing of the past is a cause. */
  static final class Stateless implements Specification {
    @Override
    public String store() {
      return "stateless";
    }

    @Override
    public List<Touch> touches(Operation operation) {
      return List.of();
    }
  }

  // end

  // snippet specification-of-balancer
  /**
   * A load balancer that takes its backends in turn: whose turn it is depends on every request
   * since the backends were last set.
   */
  static final class Balancer implements Specification, Model {
    private static final Cell TURN = Cell.of("turn");
    private static final Cell BACKENDS = Cell.of("backends");

    @Override
    public String store() {
      return "balancer";
    }

    @Override
    public List<Touch> touches(Operation operation) {
      return word(operation, 0).equals("BACKENDS")
          ? List.of(Touch.replaces(BACKENDS), Touch.replaces(TURN))
          : List.of(Touch.reads(BACKENDS), Touch.changes(TURN).from(BACKENDS));
    }

    @Override
    public Optional<Model> model() {
      return Optional.of(this);
    }

    @Override
    public Object run(Operation operation, State state) {
      if (word(operation, 0).equals("BACKENDS")) {
        state.put(BACKENDS, operation.request().subList(1, operation.request().size()));
        state.put(TURN, 0);
        return Bytes.of("set");
      }
      if (!(state.get(BACKENDS) instanceof List<?> backends)
          || !(state.get(TURN) instanceof Integer turn)) {
        return Bytes.of("none");
      }
      state.put(TURN, (turn + 1) % backends.size());
      return backends.get(turn);
    }
  }

  // end

  // snippet specification-of-files
  /**
   * Files as pwrite, pread, ftruncate and unlink see them. A file's bytes are cells by pages of
   * eight: a write that covers a page replaces it, one that covers a part changes it. The file's
   * length is a cell of its own.
   */
  static final class Files implements Specification, Model {
    private static final int PAGE = 8;

    @Override
    public String store() {
      return "files";
    }

    @Override
    public List<Touch> touches(Operation operation) {
      var file = Cell.of(word(operation, 1));
      var length = file.child("length");
      return switch (word(operation, 0)) {
        case "unlink" -> List.of(Touch.replaces(file));
        case "ftruncate" -> List.of(Touch.changes(file));
        case "pread" ->
            pages(operation, number(operation, 3))
                .map(page -> Touch.reads(page).from(length))
                .toList();
        default -> {
          var touches = new ArrayList<Touch>(List.of(Touch.changes(length)));
          long size = operation.request().get(3).length();
          pages(operation, size)
              .map(
                  page ->
                      covers(operation, size, page) ? Touch.replaces(page) : Touch.changes(page))
              .forEach(touches::add);
          yield touches;
        }
      };
    }

    private static java.util.stream.Stream<Cell> pages(Operation operation, long size) {
      long from = number(operation, 2);
      return java.util.stream.LongStream.rangeClosed(
              from / PAGE, (from + Math.max(size, 1) - 1) / PAGE)
          .mapToObj(page -> Cell.of(word(operation, 1), "pages", Long.toString(page)));
    }

    private static boolean covers(Operation operation, long size, Cell page) {
      long start = Long.parseLong(page.name().text()) * PAGE;
      return number(operation, 2) <= start && start + PAGE <= number(operation, 2) + size;
    }

    @Override
    public Optional<Model> model() {
      return Optional.of(this);
    }

    @Override
    public Object run(Operation operation, State state) {
      var file = Cell.of(word(operation, 1));
      var content = state.get(file) instanceof Bytes bytes ? bytes.toArray() : new byte[0];
      int at = operation.request().size() > 2 ? (int) number(operation, 2) : 0;
      switch (word(operation, 0)) {
        case "unlink" -> state.clear(file);
        case "ftruncate" -> state.put(file, Bytes.of(Arrays.copyOf(content, at)));
        case "pread" -> {
          int end = (int) Math.min(content.length, at + number(operation, 3));
          return at >= end ? Bytes.EMPTY : Bytes.of(content).slice(at, end);
        }
        default -> {
          var data = operation.request().get(3).toArray();
          var longer = Arrays.copyOf(content, Math.max(content.length, at + data.length));
          System.arraycopy(data, 0, longer, at, data.length);
          state.put(file, Bytes.of(longer));
        }
      }
      return Bytes.of("0");
    }
  }
  // end
}
