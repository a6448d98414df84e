package dev.evergreen.core.engine;

import dev.evergreen.core.Grains;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.NotStartedException;
import dev.evergreen.core.ReadOnlyViolationException;
import dev.evergreen.core.model.CallKey;
import dev.evergreen.core.model.Failures;
import dev.evergreen.core.model.GrainModel;
import dev.evergreen.core.model.Operation;
import dev.evergreen.core.model.Outcome;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.work.Nanos;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Makes references: proxies that turn method calls into calls of grains. */
final class References implements Grains {

  private final Base base;
  private final Calls calls;
  private final @Nullable Activation holder;
  private final Duration timeout;

  /**
   * @param holder the activation to whose turns the references belong; null for outside
   */
  References(Base base, Calls calls, @Nullable Activation holder, Duration timeout) {
    this.base = base;
    this.calls = calls;
    this.holder = holder;
    this.timeout = timeout;
  }

  @Override
  public <K, T extends KeyedGrain<K>> T get(Class<T> type, K key) {
    var model = base.models().model(type);
    return type.cast(model.newReference(new GrainProxy(model, key)));
  }

  @Override
  public Grains withTimeout(Duration limit) {
    if (limit.isNegative() || limit.isZero()) {
      throw new IllegalArgumentException("a time limit must be positive, but was " + limit);
    }
    return new References(base, calls, holder, limit);
  }

  /** What stands behind one reference. */
  private final class GrainProxy implements InvocationHandler {
    private final GrainModel model;
    private final GrainId id;

    /** The last key without arguments: keys are immutable, so that a race does no harm. */
    private @Nullable CallKey bare;

    GrainProxy(GrainModel model, @Nullable Object key) {
      this.model = model;
      this.id = model.id(key);
    }

    @Override
    public @Nullable Object invoke(
        Object proxy, Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
      var operation = model.operation(method);
      if (operation == null) {
        return ofObject(method, arguments);
      }
      var scope = scope(operation);
      var key = key(operation, arguments);
      if (scope != null && scope.reader() != null) {
        return read(scope.reader(), scope, key);
      }
      return calls.call(scope, key, timeout);
    }

    private CallKey key(Operation operation, @Nullable Object @Nullable [] arguments) {
      var key = bare;
      if (arguments == null && key != null && key.operation().equals(operation)) {
        return key;
      }
      key = new CallKey(model, id, operation, operation.freeze(arguments, id));
      if (arguments == null) {
        bare = key;
      }
      return key;
    }

    private @Nullable Object read(Scope.Reader run, Scope scope, CallKey key) throws Exception {
      scope.checkAlive();
      return switch (run.read(scope, key, Nanos.of(timeout))) {
        case Outcome.Returned(var value) -> key.operation().copyOut(value);
        case Outcome.Threw(var failure, var original) -> throw Failures.rebuild(failure, key);
        case Outcome.NotStarted(var reason, var again) -> throw new NotStartedException(reason);
      };
    }

    /** The scope that the call belongs to; checks that it may be made. */
    private @Nullable Scope scope(Operation operation) {
      var scope = Scope.current();
      if (scope != null && scope.workers() != base.workers()) {
        scope = null;
      }
      if (holder != null && (scope == null || scope.home() != holder)) {
        throw new InvalidGrainException(
            holder.id()
                + ": a reference of its context was called ("
                + id
                + "."
                + operation.name()
                + ") by a thread that holds no turn of it; use Parallel for branches, and the"
                + " node's own references outside of grains");
      }
      if (scope != null && scope.readOnly() && !operation.readOnly()) {
        throw new ReadOnlyViolationException(
            (scope.reader() != null ? "a computation" : "the read-only operation " + scope.turn())
                + " called "
                + id
                + "."
                + operation.name()
                + ", which is not @ReadOnly; only @ReadOnly operations may be called there");
      }
      return scope;
    }

    private Object ofObject(Method method, @Nullable Object @Nullable [] arguments) {
      return switch (method.getName()) {
        case "hashCode" -> id.hashCode();
        case "equals" -> arguments != null && sameGrain(arguments[0]);
        case "toString" -> id.toString();
        default -> throw new UnsupportedOperationException(method.toString());
      };
    }

    private boolean sameGrain(@Nullable Object other) {
      return other != null
          && Proxy.isProxyClass(other.getClass())
          && Proxy.getInvocationHandler(other) instanceof GrainProxy that
          && id.equals(that.id);
    }
  }
}
