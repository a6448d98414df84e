package dev.evergreen.provenance;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;

// snippet keeper-specification
/** What answers of a keeper depend on: each name is a cell. */
final class KeeperSpecification implements Specification, Model {
  @Override
  public String store() {
    return "keeper";
  }

  @Override
  public List<Touch> touches(Operation operation) {
    var cell = Cell.ALL.child(operation.request().getLast());
    return switch (operation.request().getFirst().text()) {
      case "PUT" -> List.of(Touch.replaces(Cell.ALL.child(operation.request().get(1))));
      case "ADD" -> List.of(Touch.changes(cell));
      case "DEL" ->
          List.of(Touch.reads(cell), Touch.replaces(cell).effect(!operation.replied("none")));
      case "GET" -> List.of(Touch.reads(cell));
      case "LIST" -> List.of(Touch.reads(Cell.ALL));
      default -> List.of();
    };
  }

  @Override
  public Optional<Model> model() {
    return Optional.of(this);
  }

  @Override
  public Object run(Operation operation, State state) {
    var request = operation.request();
    var cell = Cell.ALL.child(request.get(1));
    var old = state.get(cell);
    switch (request.getFirst().text()) {
      case "PUT" -> state.put(cell, request.get(2));
      case "DEL" -> state.clear(cell);
      case "ADD" -> {
        var sum = Bytes.of("" + (Long.parseLong(old == null ? "0" : old.toString()) + 1));
        state.put(cell, sum);
        return sum;
      }
      case "LIST" -> {
        return new HashSet<>(state.below(Cell.ALL).keySet().stream().map(Cell::name).toList());
      }
      default -> {}
    }
    return request.getFirst().text().equals("PUT")
        ? Bytes.of("kept")
        : old == null ? Bytes.of("none") : old;
  }

  @Override
  public Object reply(Operation operation) {
    var reply = String.valueOf(operation.reply());
    if (!operation.request().getFirst().text().equals("LIST")) {
      return Bytes.of(reply);
    }
    var names = new HashSet<>(List.of(reply.split(" ", -1)).stream().map(Bytes::of).toList());
    names.remove(Bytes.EMPTY);
    return names;
  }
}
// end
