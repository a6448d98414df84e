package dev.evergreen.storage;

import dev.evergreen.core.spi.Fence;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.storage.Request.IsAlive;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The fence of a cluster in a database: its nodes that are alive are rows of a table. */
final class DatabaseFence implements Fence {

  /** The table {@code grain_node}. Blocks; called by platform threads, any number at a time. */
  interface Nodes {

    /** Adds a row, unless it is there; and not after the node was given up, however late. */
    void join(Member member) throws SQLException;

    /** Who was not given up to the end; among them may be one that is being given up. */
    Set<NodeId> alive(String cluster) throws SQLException;

    /**
     * Waits for the saves of this node that are under way, and takes it away; if the other one is
     * alive.
     *
     * @return whether it was
     */
    boolean giveUp(Member member, Member by) throws SQLException;
  }

  /** Looks whether a node has a row. */
  interface Lookup {
    boolean isAlive(Member member) throws SQLException;
  }

  private final String cluster;
  private final Workers workers;
  private final Nodes nodes;

  DatabaseFence(String cluster, Workers workers, Nodes nodes) {
    this.cluster = cluster;
    this.workers = workers;
    this.nodes = nodes;
  }

  @Override
  public Storage storageOf(NodeId node) {
    return new OfOneNode(member(node));
  }

  @Override
  public void join(NodeId node) {
    var member = member(node);
    workers.apart(
        "The joining of",
        member,
        () -> {
          nodes.join(member);
          return true;
        });
  }

  @Override
  public Set<NodeId> alive() {
    return workers.apart("Asking for the nodes of", cluster, () -> nodes.alive(cluster));
  }

  @Override
  public boolean isAlive(NodeId node) {
    return workers.isAlive(member(node));
  }

  @Override
  public boolean giveUp(NodeId node, NodeId by) {
    var member = member(node);
    return workers.apart("Giving up", member, () -> nodes.giveUp(member, member(by)));
  }

  /** Answers questions, most of which are for the same node: each node is looked up once. */
  static void answer(List<IsAlive> batch, Lookup lookup) throws SQLException {
    var answers = new HashMap<Member, Boolean>();
    for (var question : batch) {
      var member = question.member();
      if (!answers.containsKey(member)) {
        answers.put(member, lookup.isAlive(member));
      }
      question.answer().complete(answers.get(member));
    }
  }

  private Member member(NodeId node) {
    return new Member(cluster, node);
  }

  @Override
  public String toString() {
    return "Fence[" + cluster + "]";
  }

  /** The storage as one node uses it. */
  private final class OfOneNode implements Storage {
    private final Member member;

    OfOneNode(Member member) {
      this.member = member;
    }

    @Override
    public Optional<Stored> load(GrainId grain) {
      return workers.load(grain);
    }

    @Override
    public long save(GrainId grain, long expected, byte[] state) {
      return workers.save(grain, expected, state, member);
    }

    @Override
    public boolean fenced() {
      return true;
    }

    /** Nothing: the storage is its owner's. */
    @Override
    public void close() {}
  }
}
