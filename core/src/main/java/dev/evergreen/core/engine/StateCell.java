package dev.evergreen.core.engine;

import dev.evergreen.codec.NotAValueException;
import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.ReadOnlyViolationException;
import dev.evergreen.core.State;
import dev.evergreen.core.StateNotSavedException;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeGivenUpException;
import dev.evergreen.core.spi.RevisionConflictException;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The state of one activation: what is saved, and what the operation under way has set. Touched
 * only with the activation's baton held.
 */
final class StateCell<S> implements State<S> {

  private final Base base;
  private final GrainId id;
  private final ValueType type;
  private final Function<String, @Nullable Scope> check;
  private long revision = Storage.NONE;
  private S saved;
  private S present;

  /** What a newer version has stored and this one does not know; saving would lose it. */
  private @Nullable String unknown;

  /** Whether the state has, or had, what can be changed even when frozen, such as an array. */
  private boolean changeable;

  /**
   * @param check that the calling thread runs code of the grain; given what that has used
   */
  StateCell(
      Base base, GrainId id, ValueType type, S initial, Function<String, @Nullable Scope> check) {
    this.base = base;
    this.id = id;
    this.type = type;
    this.check = check;
    this.saved = kept(initial);
    var stored = load();
    if (stored.isPresent()) {
      revision = stored.get().revision();
      var read = type.read(stored.get().state());
      var value = read.value();
      if (value != null) {
        saved = kept(value);
      }
      if (!base.settings().overwriteNewer()) {
        unknown = read.unknown();
      }
    }
    this.present = saved;
  }

  private Optional<Storage.Stored> load() {
    var loading = base.observer().loadBegins(id);
    try {
      var stored = base.storage().load(id);
      loading.end(null);
      return stored;
    } catch (Throwable e) {
      loading.end(e);
      throw e;
    }
  }

  @Override
  public S get() {
    check("state().get()");
    return changeable ? frozen(present) : present;
  }

  @Override
  public void set(S state) {
    var scope = check("state().set(...)");
    if (scope != null && scope.readOnly()) {
      throw new ReadOnlyViolationException(
          id
              + ": state was set in "
              + (scope.reader() != null
                  ? "a computation"
                  : "the read-only operation " + scope.turn())
              + "; set state in operations without @ReadOnly only");
    }
    var after = kept(state);
    if (scope != null && scope.turn() != null) {
      scope.turn().keep(new Turn.Before(present, revision));
    }
    present = after;
  }

  private @Nullable Scope check(String what) {
    var scope = check.apply(what);
    if (scope != null && scope.turn() != null && scope.turn().expelled()) {
      throw scope.turn().expulsion();
    }
    return scope;
  }

  private S kept(@Nullable Object state) {
    S kept = frozen(state);
    changeable |= !type.immutable() && frozen(kept) != kept;
    return kept;
  }

  @SuppressWarnings("unchecked") // freezing keeps the type, and the bytes were written from an S
  private S frozen(@Nullable Object state) {
    try {
      var frozen = type.freeze(state);
      if (frozen == null) {
        throw new InvalidGrainException(id + ": state was set to null");
      }
      return (S) frozen;
    } catch (ValueLimitException | NotAValueException e) {
      throw refused(e);
    }
  }

  private GrainException refused(IllegalArgumentException why) {
    return Failures.refused(id + ": the state", why);
  }

  private StateNotSavedException newer(String component) {
    return new StateNotSavedException(
        id
            + ": its state has "
            + component
            + ", which this node's version of the record does not know and would lose; what the"
            + " operation did is forgotten, and nothing was saved. A newer version has written it:"
            + " upgrade "
            + base.peers().self()
            + ", or stop it so that the grain moves to a newer node. If the component was removed"
            + " on purpose, name it in @Removed on the record; to go back to this version for good,"
            + " set NodeSettings.overwriteNewer");
  }

  /**
   * Forgets what an operation has set. What others of its chain, in a re-entrant grain, have set
   * before stays; what they have set and saved since cannot be taken back.
   */
  @SuppressWarnings("unchecked") // the turn keeps what this cell gave it
  void rollBack(Turn turn) {
    var before = turn.stateBefore();
    if (before != null) {
      present = before.revision() == revision ? (S) before.state() : saved;
    }
  }

  /**
   * Saves what the operation under way has set; blocks.
   *
   * @return why the state could not be saved, and is not known any more; or null
   * @throws GrainException if it must not be saved; what is stored is still what was loaded
   */
  @Nullable StateNotSavedException save() {
    if (present == saved || type.same(present, saved)) {
      present = saved;
      // What it answers may rest on a state that is not the latest.
      return base.placement().confirmed() ? null : unconfirmed();
    }
    if (unknown != null) {
      throw newer(unknown);
    }
    byte[] bytes;
    try {
      bytes = type.encode(present);
    } catch (ValueLimitException | NotAValueException e) {
      throw refused(e);
    }
    var storage = base.storage();
    try {
      revision = store(storage, bytes);
      saved = present;
      return storage.fenced() || base.placement().confirmed() ? null : unconfirmed();
    } catch (RevisionConflictException e) {
      return new StateNotSavedException(
          id
              + ": another activation of this grain has saved meanwhile; what this one did is"
              + " forgotten. Repeat the call if it still applies",
          e);
    } catch (NodeGivenUpException e) {
      return new StateNotSavedException(
          id
              + ": this node was given up, so that the grain may be active elsewhere; what the"
              + " operation did is forgotten. Call again, by another node",
          e);
    } catch (Throwable e) {
      return new StateNotSavedException(
          id
              + ": the storage failed ("
              + (e instanceof StorageException ? e.getMessage() : Failures.describe(e))
              + "); whether the operation took effect is unknown. Ask the grain",
          e);
    }
  }

  private long store(Storage storage, byte[] bytes) {
    var saving = base.observer().saveBegins(id, bytes.length);
    try {
      long stored = storage.save(id, revision, bytes);
      saving.end(null);
      return stored;
    } catch (Throwable e) {
      saving.end(e);
      throw e;
    }
  }

  /** Another activation may have loaded the state before it was saved, or have saved another. */
  private StateNotSavedException unconfirmed() {
    return new StateNotSavedException(
        id
            + ": the others did not confirm that this node still belongs to them, so that the grain"
            + " may be active elsewhere; whether the operation took effect is unknown. Ask the"
            + " grain");
  }
}
