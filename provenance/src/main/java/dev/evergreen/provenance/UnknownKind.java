package dev.evergreen.provenance;

import java.util.List;

/** Stands for the kinds of store that no {@link StoreKind} is found for: nothing is known. */
final class UnknownKind implements StoreKind {
  private final String store;

  UnknownKind(String store) {
    this.store = store;
  }

  @Override
  public Specification specification() {
    return new Specification() {
      @Override
      public String store() {
        return store;
      }

      @Override
      public List<Touch> touches(Operation operation) {
        return List.of();
      }

      @Override
      public Knowledge knowledge(Operation operation) {
        return Knowledge.NONE;
      }
    };
  }

  @Override
  public List<Bytes> words(Bytes recorded) {
    return List.of(recorded);
  }

  @Override
  public Bytes recorded(List<Bytes> words) {
    return words.getFirst();
  }

  @Override
  public String verb(List<Bytes> words) {
    return "";
  }
}
