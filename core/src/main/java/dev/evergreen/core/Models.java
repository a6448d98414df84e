package dev.evergreen.core;

import dev.evergreen.codec.Codec;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.SummaryKey;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** What a node knows of grain interfaces: their models, and the calls that other nodes name. */
final class Models {

  private final NodeId self;
  private final Codec codec;
  private final GrainTypes types;
  private final Graph.Names graph;
  private final Map<Class<?>, GrainModel> byType = new ConcurrentHashMap<>();
  private final Map<String, GrainModel> byName = new ConcurrentHashMap<>();

  /**
   * @param types what this node hosts
   * @throws InvalidGrainException if one of them breaks a rule; the message says which
   */
  Models(NodeId self, Codec codec, GrainTypes types) {
    this.self = self;
    this.codec = codec;
    this.types = types;
    this.graph = new Graph.Names(codec);
    types.all().forEach(hosted -> model(hosted.type()));
  }

  Codec codec() {
    return codec;
  }

  /** The names of lists of reads. */
  Graph.Names graph() {
    return graph;
  }

  /** The checked model of a grain interface. */
  GrainModel model(Class<?> type) {
    var model = byType.get(type);
    if (model != null) {
      return model;
    }
    var made = new GrainModel(type, codec);
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
  GrainTypes.Hosted hosted(GrainModel model, GrainId id) {
    var hosted = types.get(model.name());
    if (hosted == null) {
      throw new ActivationException(
          id
              + " cannot be activated: "
              + model.type().getTypeName()
              + " is not registered on this node; register it with grain("
              + model.type().getSimpleName()
              + ".class, ...) before the node starts");
    }
    if (hosted.type() != model.type()) {
      throw new ActivationException(
          id + ": the registered type is " + hosted.type() + ", but was asked for " + model.type());
    }
    return hosted;
  }

  /** The call that another node names; null if this node cannot have it. */
  @Nullable CallKey knownCallKey(SummaryKey key) {
    try {
      return callKey(key);
    } catch (GrainException e) {
      return null;
    }
  }

  /** What this node calls a summary that a node of another version may have named. */
  SummaryKey ownName(SummaryKey key) {
    var call = knownCallKey(key);
    return call == null ? key : call.wire();
  }

  /** The call that another node names. */
  CallKey callKey(SummaryKey key) {
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
