package dev.evergreen.provenance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The tests' store: {@code set KEY VALUE}, {@code setnx KEY VALUE}, {@code copy FROM TO}, {@code
 * get KEY}, {@code get KEY KEY}, {@code clear}, {@code many KEYS COUNT}, and {@code begin}, {@code
 * commit} around sets, which are then answered {@code queued}. Rules fail at the reply {@code
 * unclean}.
 */
public final class TinyKind implements StoreKind {

  /** Made by the service loader. */
  public TinyKind() {}

  @Override
  public Specification specification() {
    return new Specification() {
      @Override
      public String store() {
        return "tiny";
      }

      @Override
      public List<Touch> touches(Operation operation) {
        return operation.parts().isEmpty()
            ? write(operation)
            : operation.parts().stream().flatMap(part -> write(part).stream()).toList();
      }
    };
  }

  @Override
  public List<Bytes> words(Bytes recorded) {
    return Arrays.stream(recorded.latin1().split(" ", 3)).map(Bytes::of).toList();
  }

  @Override
  public Bytes recorded(List<Bytes> words) {
    return Bytes.of(String.join(" ", words.stream().map(Bytes::text).toList()));
  }

  @Override
  public boolean mayBePart(Operation operation) {
    return operation.reply() != null && operation.reply().text().equals("queued");
  }

  @Override
  public List<Operation> parts(Operation operation, Iterator<Operation> earlier) {
    var parts = new ArrayList<Operation>();
    if (operation.request().getFirst().text().equals("commit") && !operation.replied("aborted")) {
      while (earlier.hasNext()) {
        var part = earlier.next();
        if (!mayBePart(part)) {
          break;
        }
        parts.addFirst(part);
      }
    }
    return parts;
  }

  /** Fails at a reply that says so. */
  @Override
  public Bytes redactReply(Bytes reply, Redactor redactor) {
    if (reply.equals(Bytes.of("unclean"))) {
      throw new IllegalStateException("a kind with a fault");
    }
    return redactor.clean(reply);
  }

  @Override
  public List<Cell> outside(Bytes evidence) {
    var text = evidence.text();
    return text.startsWith("key ")
        ? List.of(Cell.of("0").child(Bytes.of(text.substring(4))))
        : List.of(Cell.ALL);
  }

  @Override
  public Bytes redactEvidence(Bytes evidence, Redactor redactor) {
    var text = evidence.text();
    return text.startsWith("key ")
        ? Bytes.of("key " + redactor.clean(Bytes.of(text.substring(4))))
        : evidence;
  }

  private static List<Touch> write(Operation operation) {
    var words = operation.request();
    return switch (words.getFirst().text()) {
      case "set" -> {
        var touch = Touch.replaces(Cell.of("0").child(words.get(1)));
        yield List.of(operation.outcomeUnknown() ? touch.effect(Touch.Effect.UNKNOWN) : touch);
      }
      case "get" ->
          words.stream().skip(1).map(key -> Touch.reads(Cell.of("0").child(key))).toList();
      case "setnx" ->
          List.of(Touch.changes(Cell.of("0").child(words.get(1))).effect(operation.replied("1")));
      case "copy" ->
          List.of(
              Touch.replaces(Cell.of("0").child(words.get(2)))
                  .from(Cell.of("0").child(words.get(1))));
      case "clear" -> List.of(Touch.replaces(Cell.of("0")));
      case "many" ->
          IntStream.range(0, Integer.parseInt(words.get(2).text()))
              .mapToObj(i -> Touch.replaces(Cell.of("0").child(Bytes.of(words.get(1).text() + i))))
              .toList();
      case "fail" -> throw new IllegalStateException("a specification with a fault");
      default -> List.of();
    };
  }
}
