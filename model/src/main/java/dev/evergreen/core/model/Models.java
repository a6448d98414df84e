package dev.evergreen.core.model;

import dev.evergreen.codec.Limits;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.ActivationException;
import dev.evergreen.core.GrainException;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** What a node knows of grain interfaces: their models, and the calls that other nodes name. */
public final class Models {

  private final NodeId self;
  private final Limits limits;
  private final Map<ClassLoader, KnownTypes> known = new ConcurrentHashMap<>();
  private final Map<String, GrainTypes.Hosted> hosted = new HashMap<>();
  private final Graph.Names graph;
  private final Map<Class<?>, GrainModel> byType = new ConcurrentHashMap<>();
  private final Map<String, GrainModel> byName = new ConcurrentHashMap<>();

  /**
   * @param types what this node hosts; what is added to them later is not
   * @throws InvalidGrainException if one of them breaks a rule; the message says which
   */
  public Models(NodeId self, Limits limits, GrainTypes types) {
    this.self = self;
    this.limits = limits;
    this.graph = new Graph.Names(known(Graph.class).model(Graph.class));
    types.all().forEach(type -> hosted.put(model(type.type()).name(), type));
  }

  private KnownTypes known(Class<?> type) {
    // What is the JDK's is of the loader that has none.
    var loader = Objects.requireNonNullElse(type.getClassLoader(), Graph.class.getClassLoader());
    return known.computeIfAbsent(loader, of -> KnownTypes.of(of, limits));
  }

  /** How values of a class are kept and written. */
  public ValueType values(Class<?> type) {
    return known(type).codec().of(type);
  }

  /** How results are kept whose class is not known before. */
  public ValueType dynamic() {
    return known(Graph.class).codec().dynamic();
  }

  /** The names of lists of reads. */
  public Graph.Names graph() {
    return graph;
  }

  /** The checked model of a grain interface. */
  public GrainModel model(Class<?> type) {
    var model = byType.get(type);
    if (model != null) {
      return model;
    }
    var made = known(type).model(type);
    var first = byName.putIfAbsent(made.name(), made);
    if (first != null && first.type() != type) {
      throw GrainTypes.sameName(type, first.type());
    }
    byType.putIfAbsent(type, first != null ? first : made);
    return first != null ? first : made;
  }

  /**
   * What a grain of this node is made by.
   *
   * @throws ActivationException if this node does not host the type
   */
  public GrainTypes.Hosted hosted(GrainModel model, GrainId id) {
    var known = hosted.get(model.name());
    if (known == null) {
      throw new ActivationException(
          id
              + " cannot be activated: "
              + model.type().getTypeName()
              + " is not registered on this node; register it with grain("
              + model.type().getSimpleName()
              + ".class, ...) before the node starts");
    }
    if (known.type() != model.type()) {
      throw new ActivationException(
          id + ": the registered type is " + known.type() + ", but was asked for " + model.type());
    }
    return known;
  }

  /** How many types this node hosts. */
  public int hosts() {
    return hosted.size();
  }

  /** The call that another node names; null if this node cannot have it. */
  public @Nullable CallKey knownCallKey(SummaryKey key) {
    try {
      return callKey(key);
    } catch (GrainException e) {
      return null;
    }
  }

  /** What this node calls a summary that a node of another version may have named. */
  public SummaryKey ownName(SummaryKey key) {
    var call = knownCallKey(key);
    return call == null ? key : call.wire();
  }

  /** The call that another node names. */
  public CallKey callKey(SummaryKey key) {
    var model = graph.isReads(key) ? graph.model() : byName.get(key.grain().type());
    if (model == null) {
      throw new ActivationException(
          key.grain() + ": the type " + key.grain().type() + " is not registered on " + self);
    }
    var operation = model.operation(key.operation());
    if (operation == null) {
      throw new InvalidGrainException(
          key.grain() + ": " + self + " knows no operation " + key.operation());
    }
    try {
      return new CallKey(model, key.grain(), operation, operation.decode(key.arguments()));
    } catch (GrainException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      throw new InvalidGrainException(
          key + ": " + self + " cannot read the arguments: " + Failures.describe(e), e);
    }
  }
}
