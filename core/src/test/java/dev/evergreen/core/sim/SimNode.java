package dev.evergreen.core.sim;

import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.spi.NodeId;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One life of one simulated node. */
final class SimNode {

  private final NodeId id;
  private final Life life;
  private final SimClock clock;
  private final SimPlacement placement;
  private final Set<NodeId> refused = new HashSet<>();
  private @Nullable EngineNode engine;
  private boolean leaving;
  private boolean doomed;
  private boolean removed;
  private boolean fenced;

  SimNode(NodeId id, Life life, SimClock clock, SimPlacement placement) {
    this.id = id;
    this.life = life;
    this.clock = clock;
    this.placement = placement;
  }

  NodeId id() {
    return id;
  }

  Life life() {
    return life;
  }

  SimClock clock() {
    return clock;
  }

  SimPlacement placement() {
    return placement;
  }

  EngineNode engine() {
    return Objects.requireNonNull(engine, "the node is not started");
  }

  void started(EngineNode now) {
    engine = now;
  }

  /** Whether messages of a node that is gone for good are refused. */
  boolean refuses(NodeId from) {
    return refused.contains(from);
  }

  void refuse(NodeId gone) {
    refused.add(gone);
  }

  /** Whether it takes part and will go on to. */
  boolean serves() {
    return candidate() && !life.dead();
  }

  /** Whether the cluster may give it partitions: it does not know that the node may be dead. */
  boolean candidate() {
    return !leaving && !removed && !fenced;
  }

  /** Whether it takes part, and nothing under way will end that. */
  boolean stays() {
    return serves() && !doomed;
  }

  /** Whether the others give it up, or will. */
  boolean doomed() {
    return doomed;
  }

  /** From now on the others will give it up. */
  void doom() {
    doomed = true;
  }

  void leaves() {
    leaving = true;
  }

  boolean removed() {
    return removed;
  }

  void markRemoved() {
    removed = true;
  }

  boolean fenced() {
    return fenced;
  }

  void markFenced() {
    fenced = true;
  }

  @Override
  public String toString() {
    return id.toString();
  }
}
