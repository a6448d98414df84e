package dev.evergreen.cluster;

import dev.evergreen.cluster.links.LinkListener;
import dev.evergreen.cluster.links.LinkSecurity;
import dev.evergreen.cluster.links.LinkSettings;
import dev.evergreen.cluster.links.NodeLinks;
import dev.evergreen.core.Computation;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.Grains;
import dev.evergreen.core.KeyedGrain;
import dev.evergreen.core.Node;
import dev.evergreen.core.NodeSettings;
import dev.evergreen.core.ReactiveComputation;
import dev.evergreen.core.engine.CoreRuntime;
import dev.evergreen.core.engine.EngineNode;
import dev.evergreen.core.spi.Engine;
import dev.evergreen.core.spi.MemoryStorage;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeCounts;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeObserver;
import dev.evergreen.core.spi.RealTime;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.Tracing;
import dev.evergreen.core.work.Workers;
import dev.evergreen.reports.LifeLog;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.reports.Reporter;
import dev.evergreen.settings.Settings;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;
import org.apache.pekko.Done;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.Props;
import org.apache.pekko.cluster.Cluster;
import org.jspecify.annotations.Nullable;

/**
 * A node of a cluster of processes: grains are spread over all nodes that host them, each active on
 * one, and found from everywhere. The API is that of any {@link Node}.
 *
 * <p><b>Its life.</b> {@link Builder#start} joins the cluster and returns when the node takes part.
 * {@link #close} leaves it: grains are handed over, which takes seconds, then the node stops. A
 * node that was declared dead by the others, that finds itself in the smaller part of a split
 * cluster, or that never had a connection for calls to one of them, is <em>fenced</em>: calls and
 * trackers end with {@link dev.evergreen.core.NodeStoppedException}, and by default the process
 * exits.
 *
 * <p>Thread-safe.
 */
public final class ClusterNode implements Node {

  private static final System.Logger.Level USUAL = System.Logger.Level.INFO;
  private static final Duration REPORT_PATIENCE = Duration.ofSeconds(1);
  private static final long PEKKO_MILLIS = 1_000;
  private static final long LOOK_NANOS = Duration.ofSeconds(1).toNanos();

  private static final RandomGenerator RANDOM = () -> ThreadLocalRandom.current().nextLong();

  private static final String GIVEN_UP =
      "the others regard it as dead, or it is in the smaller part of a split cluster (of two nodes"
          + " that is the one with the higher address)";

  private static final String CAN_THEY_REACH = "Can each of them reach the link port of the other?";

  private final ClusterSettings settings;
  private final Consumer<String> whenFenced;
  private final RealTime time = RealTime.create();
  private final NodeLinks links;
  private final ActorSystem system;
  private final Cluster cluster;
  private final NodeId self;
  private final Workers workers;
  private final Tenure tenure;
  private final Survivors survivors;
  private final Mandate mandate;
  private final Partitions partitions;
  private final EngineNode node;
  private final LifeLog log;
  private final LinkEvidence evidence;
  private final ConcurrentHashMap<NodeId, Member> members = new ConcurrentHashMap<>();
  private final CompletableFuture<Done> up = new CompletableFuture<>();

  /** Completed when it is connected to all who host grains and are heard of. */
  private final CompletableFuture<Done> reached = new CompletableFuture<>();

  private final CompletableFuture<Done> ended = new CompletableFuture<>();

  /** After so long without a connection for calls a node is not reached. */
  private final Duration unreached;

  /** Members that say no port for links, as was logged. */
  private final Set<NodeId> withoutLinks = ConcurrentHashMap.newKeySet();

  private volatile @Nullable ActorRef rosters;
  private volatile @Nullable ActorRef memberEvents;
  private volatile @Nullable ActorRef region;
  private volatile @Nullable ActorRef owners;
  private volatile @Nullable OperatorEndpoint operator;
  private volatile boolean joined;
  private volatile boolean wasReady;
  private volatile boolean leaving;
  private volatile @Nullable String fenced;

  private ClusterNode(Builder builder, ClusterSettings settings) {
    this.settings = settings;
    this.whenFenced = builder.whenFenced;
    var security = settings.security().orElse(null);
    var linkSettings = builder.links.apply(LinkSettings.of(settings.name()));
    try {
      this.links = bindLinks(settings, linkSettings);
    } catch (RuntimeException e) {
      time.close();
      throw e;
    }
    try {
      this.system =
          PekkoSystem.start(settings, links.port(), builder.settings.stopGrace(), security);
    } catch (Exception e) { // Pekko throws checked ones, too
      links.close();
      time.close();
      throw e instanceof IllegalArgumentException refused ? refused : notStarted(settings, e);
    }
    this.cluster = Cluster.get(system);
    this.self = Member.idOf(cluster.selfUniqueAddress());
    this.workers = new Workers(time, time, RANDOM);
    this.tenure =
        new Tenure(
            self,
            PekkoSystem.marginByEvidence(system),
            PekkoSystem.marginOtherwise(system),
            links::ping,
            workers);
    this.unreached = linkSettings.deadAfter();
    this.survivors = new Survivors(tenure, workers, new AsSurvivor());
    this.evidence =
        new LinkEvidence(
            self,
            members,
            CrashDetector.of(system.eventStream()),
            unreached,
            tenure,
            time,
            links,
            new FromEvidence());
    this.log = new LifeLog(self, time, USUAL);
    try {
      this.mandate = mandate(builder.storage);
      this.partitions = new Partitions(self, settings.partitions(), mandate);
      this.node = startNode(builder);
    } catch (RuntimeException e) {
      // Nothing that closes this node can run yet.
      links.close();
      time.close();
      system.terminate();
      system.getWhenTerminated().toCompletableFuture().join();
      throw e;
    }
    system.getWhenTerminated().whenComplete((done, failure) -> ended.complete(Done.getInstance()));
    var shutdown = CoordinatedShutdown.get(system);
    shutdown.addTask(
        CoordinatedShutdown.PhaseBeforeServiceUnbind(), "evergreen-fence", this::fenceIfDowned);
    shutdown.addTask(
        CoordinatedShutdown.PhaseBeforeActorSystemTerminate(), "evergreen-stop", this::stopNode);
    partitions.whenFound(partition -> node.found(grain -> partitions.of(grain) == partition));
    links.start(self, new FromLinks());
  }

  private Mandate mandate(Storage storage) {
    return storage
        .fence(settings.name())
        .filter(fence -> settings.hosts())
        .<Mandate>map(
            fence -> new FencedMandate(self, fence, tenure, this::roster, new FromFence(), workers))
        .orElseGet(() -> new PingedMandate(storage, tenure, workers, this::toldAll));
  }

  /** Who belongs to the cluster now, as Pekko knows. */
  private CompletableFuture<Roster> askForRoster() {
    return ask(rosters, Rosters.WhoBelongs::new);
  }

  private static <T> CompletableFuture<T> ask(
      @Nullable ActorRef actor, Function<CompletableFuture<T>, Object> question) {
    var answer = new CompletableFuture<T>();
    if (actor == null) {
      answer.completeExceptionally(new IllegalStateException("the node has not begun to join"));
    } else {
      actor.tell(question.apply(answer), ActorRef.noSender());
    }
    return answer;
  }

  private void lostTrack(Throwable failure) {
    tenure.end();
    fence("it has lost track of the members: " + failure);
    log.warning("lost-track", "reason", failure); // last, as what failed may be the log
  }

  private Roster roster() {
    return await(askForRoster());
  }

  /** Waits until this node was told of all that Pekko has decided by now. */
  private void toldAll() {
    await(ask(memberEvents, MemberEvents.AllTold::new));
  }

  private static <T> T await(CompletableFuture<T> answer) {
    try {
      return answer.orTimeout(PEKKO_MILLIS, TimeUnit.MILLISECONDS).join();
    } catch (CompletionException e) {
      throw new IllegalStateException("Pekko does not say who belongs to the cluster", e);
    }
  }

  private EngineNode startNode(Builder builder) {
    return CoreRuntime.start(
        new Engine(self, time, time, links, partitions, mandate.storage(), RANDOM),
        builder.types,
        builder.settings,
        builder.tracing,
        view -> new Reporter(view, USUAL));
  }

  private static NodeLinks bindLinks(ClusterSettings settings, LinkSettings links) {
    try {
      return NodeLinks.bind(
          links,
          new InetSocketAddress(settings.bindHost(), settings.linkPort()),
          settings.security().orElse(null));
    } catch (IOException e) {
      throw cannotListen(settings.bindHost(), settings.linkPort(), e);
    }
  }

  private static IllegalStateException notStarted(ClusterSettings settings, Exception cause) {
    var reason = String.valueOf(cause.getMessage());
    return reason.contains("bind")
        ? cannotListen(settings.bindHost(), settings.port(), cause)
        : new IllegalStateException(
            "The node at %s:%d cannot start: %s"
                .formatted(settings.bindHost(), settings.port(), reason),
            cause);
  }

  private static IllegalStateException cannotListen(String host, int port, Exception cause) {
    return new IllegalStateException(
        "The node cannot listen at %s:%d: %s".formatted(host, port, cause.getMessage()), cause);
  }

  /** Joins, and returns when this node takes part. */
  private void join() {
    long deadline = System.nanoTime() + settings.joinWithin().toNanos();
    rosters = system.actorOf(Props.create(Rosters.class, () -> new Rosters(cluster)), "rosters");
    memberEvents =
        system.actorOf(
            Props.create(
                MemberEvents.class,
                () -> new MemberEvents(cluster, members, new FromMembers(), this::lostTrack)),
            "members");
    var started =
        Sharding.start(
            system, settings, node, partitions, self, evidence::someMayBeDead, evidence::isReached);
    region = started;
    var asking =
        system.actorOf(
            Props.create(Owners.class, () -> new Owners(started, partitions)), Owners.NAME);
    owners = asking;
    partitions.askAt(partition -> asking.tell(new Owners.Wanted(partition), ActorRef.noSender()));
    // Whoever was refused for good has no need to wait.
    var takesPart = up.thenCombine(reached, (done, _) -> done);
    var _ =
        ended.whenComplete(
            (done, failure) -> {
              up.complete(Done.getInstance());
              reached.complete(Done.getInstance());
            });
    if (!Joining.join(cluster, settings.seeds().find(deadline), takesPart, deadline)
        || ended.isDone()) {
      throw new IllegalStateException(
          "%s could not join the cluster '%s' by %s, %s"
              .formatted(self.address(), settings.name(), settings.seeds(), whyNotJoined()));
    }
    for (int i = 0; i < partitions.count(); i++) {
      asking.tell(new Owners.Wanted(i), ActorRef.noSender());
    }
    settings.operatorPort().ifPresent(this::startOperator);
    joined = true;
    lookWhoIsNotReached();
    log.usual("joined", "cluster", settings.name(), "hosts", settings.hosts());
  }

  private void startOperator(int port) {
    try {
      var started = OperatorEndpoint.start(port, this);
      operator = started;
      var _ = ended.whenComplete((done, failure) -> Thread.ofVirtual().start(started::close));
    } catch (IOException e) {
      throw cannotListen("127.0.0.1", port, e);
    }
  }

  private String whyNotJoined() {
    var reason = CoordinatedShutdown.get(system).getShutdownReason();
    if (reason.isEmpty() && up.isDone()) {
      return "as it was let in, but within %d s there was no connection for calls to %s. %s"
          .formatted(settings.joinWithin().toSeconds(), notReached(), CAN_THEY_REACH);
    }
    if (reason.isEmpty()) {
      return ("within %d s: none of them let it in. Is one up and reachable, and of this cluster?"
              + " Only the first of them begins one, and only when all others have answered"
              + " that they are in none: start them, or take from the list what is gone for"
              + " good")
          .formatted(settings.joinWithin().toSeconds());
    }
    boolean refused = reason.get() == CoordinatedShutdown.incompatibleConfigurationDetectedReason();
    return refused
        ? "as their settings are others; this node has partitions(%d), and all must have the same"
            .formatted(settings.partitions())
        : "as it was stopped: " + (fenced != null ? fenced : reason.get());
  }

  /** Starts to describe a node. */
  public static Builder builder() {
    return new Builder();
  }

  // What others see of it

  /** This life of this node. */
  public NodeId self() {
    return self;
  }

  /** The nodes of the cluster as this one knows them, itself included, in a fixed order. */
  public List<Member> members() {
    return members.values().stream().sorted(Comparator.comparing(Member::id)).toList();
  }

  /**
   * Whether requests may be sent here: it has joined and has known where all grains are, is neither
   * leaving nor fenced, and is connected to at least half of the nodes that host grains.
   */
  public boolean ready() {
    if (!joined || leaving || fenced != null) {
      return false;
    }
    wasReady |= partitions.allKnown();
    return wasReady && evidence.isConnected();
  }

  /** Whether calls reach a node. */
  boolean isReached(NodeId other) {
    return evidence.isReached(other);
  }

  /** Who hosts grains and is heard of, but not connected. */
  private List<String> notReached() {
    return evidence.notReached().stream().map(ClusterNode::withLinks).toList();
  }

  private static String withLinks(Member member) {
    return "%s (links at %d)".formatted(member.id().address(), member.linkPort());
  }

  private void lookWhetherItIsReached() {
    if (up.isDone() && !reached.isDone() && notReached().isEmpty()) {
      reached.complete(Done.getInstance());
    }
  }

  private void lookWhoIsNotReached() {
    try {
      evidence.look();
    } finally {
      if (!ended.isDone()) {
        time.after(LOOK_NANOS, this::lookWhoIsNotReached);
      }
    }
  }

  /** All whom Pekko knows. */
  private List<NodeId> all() {
    var all = new ArrayList<NodeId>();
    cluster.state().getMembers().forEach(member -> all.add(Member.idOf(member)));
    return all;
  }

  /**
   * Of two nodes each may; of more a majority must agree, as who says so may be deceived.
   *
   * @param count of them all, as far as they have a part in it
   */
  private void giveUp(NodeId other, int count) {
    if (count == 2) {
      tenure.left(other);
    }
    for (var member : cluster.state().getMembers()) {
      if (Member.idOf(member).equals(other)) {
        cluster.down(member.address());
      }
    }
  }

  /** Whether the process can be of use again: false once it is fenced or has stopped. */
  public boolean live() {
    return fenced == null && !ended.isDone();
  }

  /**
   * Gives another member up, for an operator who knows that its process has ended or shall: it is
   * removed as if the others had not heard of it for long, and fenced if it lives. That does not
   * help the smaller part of a split cluster: there this node is fenced. Of two nodes that host
   * grains each may give up the other, and nobody else may; where the storage cannot fence, its
   * process must have ended.
   *
   * @param address the member's {@code host:port}
   * @throws IllegalArgumentException if that is no member's, or this node's own, or one of two that
   *     host grains, and this one does not
   */
  public void giveUp(String address) {
    if (address.equals(self.address())) {
      throw new IllegalArgumentException(
          address + " is this node, which leaves by close() or 'drain'");
    }
    for (var other : all()) {
      if (other.address().equals(address)) {
        checkMayGiveUp(other);
        log.warning("given-up", "other", other, "because", "an operator said so");
        giveUp(other, tenure.quorumCount()); // guests have no vote
        return;
      }
    }
    throw new IllegalArgumentException(
        "'%s' is no member; the members are %s"
            .formatted(address, members().stream().map(one -> one.id().address()).toList()));
  }

  /** Who has no vote gives nobody one more: the other of two would not be a majority, and end. */
  private void checkMayGiveUp(NodeId other) {
    var voters = tenure.voters();
    if (!settings.hosts() && tenure.quorumCount() == 2 && voters.contains(other)) {
      throw new IllegalArgumentException(
          "%s is one of two nodes that host grains, and only the other of %s may give it up"
              .formatted(other.address(), voters.stream().map(NodeId::address).toList()));
    }
  }

  /** The port for operators ({@link Builder#operator}), if there is one and the node has joined. */
  public OptionalInt operatorPort() {
    var endpoint = operator;
    return endpoint == null ? OptionalInt.empty() : OptionalInt.of(endpoint.port());
  }

  /** How many partitions of all grains this node owns. */
  public int ownedPartitions() {
    return partitions.owned();
  }

  @Override
  public Grains grains() {
    return node.grains();
  }

  @Override
  public <T extends @Nullable Object> ReactiveComputation<T> reactive(Computation<T> computation) {
    return node.reactive(computation);
  }

  @Override
  public <T extends @Nullable Object> ReactiveComputation<T> reactive(
      Computation<T> computation, BiPredicate<? super T, ? super T> same) {
    return node.reactive(computation, same);
  }

  @Override
  public NodeCounts counts() {
    return node.counts();
  }

  @Override
  public NodeObserver observer() {
    return node.observer();
  }

  /**
   * The reports of all nodes of the cluster, this one's first; those that do not answer within a
   * second are missing. Blocks until then.
   */
  public List<NodeReport> reports() {
    var others = members().stream().map(Member::id).filter(id -> !id.equals(self)).toList();
    var reports = new ArrayList<>(List.of(NodeReport.of(this)));
    reports.addAll(Reporter.of(this).ask(others, REPORT_PATIENCE));
    return reports;
  }

  // What the world tells it

  private final class FromEvidence implements LinkEvidence.Node {

    @Override
    public boolean isLeaving() {
      return leaving;
    }

    @Override
    public List<NodeId> all() {
      return ClusterNode.this.all();
    }

    @Override
    public void misses(Member other, boolean asItsHostRefuses) {
      if (asItsHostRefuses) {
        var reason = "its host refuses connections";
        log.warning("declared-dead", "other", other.id(), "because", reason);
      } else {
        log.warning("not-reached", "other", other.id(), "port", other.linkPort());
      }
    }

    /** Pekko knows which of the two came up before the other, so that both agree. */
    @Override
    public void neverReached(Member own, Member other, long nanos) {
      for (var member : cluster.state().getMembers()) {
        if (Member.idOf(member).equals(other.id())) {
          var patience = Unreached.patience(settings.joinWithin(), Member.joinWithin(member));
          boolean isOlder = member.isOlderThan(cluster.selfMember());
          boolean reachesAnother = evidence.reachesHostBut(other.id());
          if (nanos > unreached.plus(patience).toNanos()
              && Unreached.endsItself(own, other, isOlder, reachesAnother)) {
            endAsNeverReached(other, nanos);
          }
        }
      }
    }

    /** On a thread of its own, as this one is that of the timers. */
    private void endAsNeverReached(Member other, long nanos) {
      Thread.startVirtualThread(
          () ->
              fence(
                  "within %d s there was never a connection for calls to %s. %s"
                      .formatted(
                          TimeUnit.NANOSECONDS.toSeconds(nanos),
                          withLinks(other),
                          CAN_THEY_REACH)));
    }

    @Override
    public void giveUp(NodeId other) {
      ClusterNode.this.giveUp(other, evidence.memberCount());
    }
  }

  private final class FromLinks implements LinkListener {

    @Override
    public void connected(NodeId other) {
      evidence.connected(other);
      lookWhetherItIsReached();
      node.found(grain -> partitions.isAt(grain, other));
    }

    @Override
    public void received(NodeId from, Message message) {
      node.receive(from, message);
    }

    @Override
    public void broken(NodeId other) {
      evidence.broken(other);
      node.linkBroken(other);
    }

    @Override
    public void refused(NodeId other) {
      if (settings.crashEvidence()) {
        evidence.refused(other);
      }
    }

    /** What the links know may be late: Pekko has known it before the others act on it. */
    @Override
    public void pinged(NodeId other, Runnable answer) {
      var _ =
          askForRoster()
              .thenAccept(
                  roster -> {
                    if (roster.members().contains(other) && tenure.mayAnswer(other, roster)) {
                      answer.run();
                    }
                  });
    }

    @Override
    public void ponged(NodeId other, long token) {
      tenure.answered(other, token);
    }

    @Override
    public void removedBy(NodeId other) {
      fence(other + " says that this node was removed from the cluster");
    }
  }

  private final class FromFence implements FencedMandate.Listener {

    @Override
    public void gaveUp(NodeId other) {
      log.usual("member-shut-out", "other", other);
    }

    @Override
    public void failed(Throwable reason) {
      log.warning("fence-unknown", "reason", reason.toString());
    }

    /** On a thread of its own, as that of a turn is among what is ended. */
    @Override
    public void givenUp() {
      Thread.startVirtualThread(() -> fence("the storage says that others have given it up"));
    }
  }

  private final class FromMembers implements Members.Listener {
    @Override
    public void changed() {
      if (cluster.isTerminated()) {
        return; // to whom it is not known any more all seem gone
      }
      var own = members.get(self);
      if (own != null && own.isUp()) {
        up.complete(Done.getInstance());
      }
      survivors.changed(members.values());
      lookWhetherItIsReached();
    }

    @Override
    public void belongs(Member member) {
      log.usual(
          "member",
          "other",
          member.id(),
          "status",
          member.status(),
          "reachable",
          member.reachable());
      if (member.isExiting()) {
        survivors.exits(member.id());
      } else if (member.linkPort() != 0) {
        // Looked up by the link: whoever follows the members must not wait for names.
        links.admit(
            member.id(), InetSocketAddress.createUnresolved(member.host(), member.linkPort()));
        node.found(grain -> true); // it may be one that was not heard of
      } else if (withoutLinks.add(member.id())) {
        log.warning("no-link-port", "other", member.id());
      }
    }

    @Override
    public void missed(Map<NodeId, Set<NodeId>> by) {
      evidence.missed(by);
    }

    @Override
    public void unreachable(Member member) {
      log.warning("member-unreachable", "other", member.id());
      node.notHeardOf(member.id());
    }

    @Override
    public void downed() {
      survivors.downed();
    }

    @Override
    public void judged(NodeId other) {
      survivors.judged(other);
    }

    @Override
    public void givenUp(Set<NodeId> others) {
      survivors.givenUp(others);
    }

    @Override
    public void gone(Set<NodeId> others) {
      evidence.gone(others);
      withoutLinks.removeAll(others);
      survivors.gone(others);
    }
  }

  private final class AsSurvivor implements Survivors.Node {

    @Override
    public boolean isOver() {
      return fenced != null || cluster.isTerminated();
    }

    @Override
    public boolean isLeaving() {
      return leaving;
    }

    @Override
    public boolean isLinked(NodeId other) {
      return links.knows(other);
    }

    @Override
    public boolean isDead(NodeId other) {
      return evidence.isDead(other);
    }

    @Override
    public void lose(Set<NodeId> gone) {
      for (var other : gone) {
        log.usual("member-gone", "other", other);
        links.remove(other);
        evidence.forget(other);
      }
      node.nodesRemoved(gone);
      forget(gone);
    }

    @Override
    public void forget(Set<NodeId> others) {
      others.forEach(partitions::forget);
    }

    @Override
    public void agreed(Set<NodeId> gone) {
      log.usual("death-agreed", "others", gone, "nodes", tenure.voters().size());
    }

    @Override
    public void fence() {
      ClusterNode.this.fence(GIVEN_UP);
    }
  }

  // The end

  /** Stops at once what this node does, then leaves nothing behind. */
  private void fence(String reason) {
    synchronized (this) {
      if (fenced != null || leaving) {
        return;
      }
      fenced = reason;
    }
    tenure.end();
    node.fence(reason);
    shutDown(CoordinatedShutdown.clusterDowningReason());
    var _ =
        ended.whenComplete(
            (done, failure) -> Thread.ofPlatform().start(() -> whenFenced.accept(reason)));
  }

  /**
   * Ends Pekko's system too. It may not end for a quarter of an hour, since it waits until the
   * kernel gives up what was sent to peers that are cut off: it is not waited for longer than its
   * last phase's time.
   */
  private void shutDown(CoordinatedShutdown.Reason reason) {
    CoordinatedShutdown.get(system)
        .runAll(reason)
        .whenComplete((done, failure) -> ended.complete(Done.getInstance()));
  }

  private CompletableFuture<Done> fenceIfDowned() {
    var reason = CoordinatedShutdown.get(system).getShutdownReason();
    if (reason.isPresent() && reason.get() == CoordinatedShutdown.clusterDowningReason()) {
      fence(GIVEN_UP);
    }
    return CompletableFuture.completedFuture(Done.getInstance());
  }

  private CompletableFuture<Done> stopNode() {
    return CompletableFuture.supplyAsync(
        () -> {
          // Each ends whatever the others throw, the time last.
          try (time;
              links;
              Ending _ = this::endMandate) {
            node.close();
          }
          return Done.getInstance();
        },
        task -> Thread.ofVirtual().start(task));
  }

  private interface Ending extends AutoCloseable {
    @Override
    void close();
  }

  private void endMandate() {
    tenure.end();
    mandate.end();
  }

  /**
   * Leaves the cluster: the grains here are handed over to other nodes, running operations get the
   * grace of {@link NodeSettings#stopGrace}, then the node stops. Idempotent; blocks until done,
   * usually for a few seconds.
   */
  @Override
  public void close() {
    boolean first;
    synchronized (this) {
      first = !leaving && fenced == null;
      leaving = true;
    }
    var asking = owners;
    if (asking != null) {
      asking.tell(Owners.Leave.NOW, ActorRef.noSender());
    }
    var placed = region;
    if (placed != null && members.values().stream().noneMatch(this::mayTakeOver)) {
      // There is nobody to hand over to; the region would wait for somebody.
      system.stop(placed);
    }
    shutDown(CoordinatedShutdown.clusterLeavingReason());
    ended.join();
    if (first && joined) {
      log.usual("left", "cluster", settings.name());
    }
  }

  private boolean mayTakeOver(Member member) {
    return !member.id().equals(self) && member.hosts() && member.isUp();
  }

  /** Describes a node, and starts it. Every setting of a node's part in a cluster is here. */
  public static final class Builder {

    private final GrainTypes types = GrainTypes.create();
    private Storage storage = new MemoryStorage();
    NodeSettings settings = NodeSettings.DEFAULT;
    private Tracing tracing = Tracing.NONE;
    private String name = "evergreen";
    String host = "127.0.0.1";
    private @Nullable String bindHost;
    int port = 25520;
    private OptionalInt linkPort = OptionalInt.empty();
    private OptionalInt operatorPort = OptionalInt.empty();
    boolean hosts = true;
    private int partitions = 128;
    private Seeds seeds = new Seeds.None();
    private Duration joinWithin = Duration.ofSeconds(60);
    UnaryOperator<LinkSettings> links = shipped -> shipped;
    private Optional<LinkSecurity> security = Optional.empty();
    boolean plaintextAnywhere;
    boolean crashEvidence;
    boolean unsharedStorage;
    private Consumer<String> whenFenced = reason -> System.exit(EXIT_FENCED);

    /** The status of a process that exits because its node was fenced. */
    private static final int EXIT_FENCED = 75;

    private Builder() {}

    /**
     * Registers a grain type.
     *
     * @param type its interface
     * @param factory makes the object for an activation; usually a constructor reference
     * @throws dev.evergreen.core.InvalidGrainException if the type's name is taken
     */
    public <K, T extends KeyedGrain<K>> Builder grain(
        Class<T> type, Function<GrainContext<K>, ? extends T> factory) {
      types.add(type, factory);
      return this;
    }

    /** Registers grain types. */
    public Builder grains(GrainTypes more) {
      types.addAll(more);
      return this;
    }

    /**
     * Where state is kept, the same for all nodes; the node does not close it. Needed, unless
     * {@link #memoryOfEachProcess} is.
     */
    public Builder storage(Storage storage) {
      this.storage = storage;
      return this;
    }

    /**
     * Keeps state in the memory of each process: a grain that moves to another node begins anew.
     * For grains without state, and for trials.
     */
    public Builder memoryOfEachProcess() {
      this.unsharedStorage = true;
      return this;
    }

    /**
     * The settings of grains and computations.
     *
     * @throws IllegalArgumentException if subscriptions would end before they are renewed
     */
    public Builder settings(NodeSettings settings) {
      if (settings.leaseFor().compareTo(settings.renewEvery().multipliedBy(2)) < 0) {
        throw new IllegalArgumentException(
            "leaseFor must be at least twice renewEvery, of all nodes, or subscriptions end without a word: but they are %s and %s"
                .formatted(settings.leaseFor(), settings.renewEvery()));
      }
      this.settings = settings;
      return this;
    }

    /** Follows calls and pushes in traces; off by default. */
    public Builder tracing(Tracing tracing) {
      this.tracing = tracing;
      return this;
    }

    /** The name of the cluster, {@code evergreen} by default; nodes of another are refused. */
    public Builder name(String name) {
      this.name = name;
      return this;
    }

    /**
     * Where this node is reached by the others, {@code 127.0.0.1:25520} by default. Calls and
     * results go over a second port, the next one by default.
     *
     * @param port 0 for any free ones
     */
    public Builder listen(String host, int port) {
      this.host = host;
      this.port = port;
      return this;
    }

    /** The address to listen at, if it is another than the one by which the others reach it. */
    public Builder bind(String address) {
      this.bindHost = address;
      return this;
    }

    /** The port for calls and results. */
    public Builder linkPort(int port) {
      this.linkPort = OptionalInt.of(port);
      return this;
    }

    /**
     * Serves operators on this machine, over HTTP at the loopback interface: {@code ./evergreen
     * members}, {@code down} and {@code drain} use it. Nothing is served by default.
     *
     * @param port 0 for any free one ({@link ClusterNode#operatorPort})
     */
    public Builder operator(int port) {
      this.operatorPort = OptionalInt.of(port);
      return this;
    }

    /**
     * Takes the settings that stand in a file of Java properties; the keys are in {@code
     * docs/settings.md}. What is called later changes them.
     *
     * @throws IllegalArgumentException if a key is not known or a value makes no sense; the message
     *     names the key and the file
     * @throws java.io.UncheckedIOException if the file cannot be read
     */
    public Builder configuredBy(Path file) {
      NodeConfiguration.apply(Settings.of(file), this);
      return this;
    }

    /**
     * Takes the settings that stand in the environment: each key of {@link #configuredBy} in
     * capitals, with {@code _} for {@code -}, behind {@code EVERGREEN_NODE_}.
     *
     * @throws IllegalArgumentException if a variable is not known or its value makes no sense; the
     *     message names it
     */
    public Builder configuredByEnvironment() {
      NodeConfiguration.apply(Settings.of(System.getenv(), NodeConfiguration.VARIABLES), this);
      return this;
    }

    /** How the others are found; by default this node begins a cluster. */
    public Builder seeds(Seeds seeds) {
      this.seeds = seeds;
      return this;
    }

    /**
     * The addresses by which the others are found. The first one begins the cluster, when all
     * others have answered that they have none ({@link Seeds.Addresses}); give all nodes the same
     * list.
     *
     * @param addresses each {@code host:port}
     */
    public Builder seeds(String... addresses) {
      return seeds(
          new Seeds.Addresses(List.of(addresses).stream().map(Seeds.Address::parse).toList()));
    }

    /** No grains are placed on this node; it calls and computes over those of others. */
    public Builder hostsNoGrains() {
      this.hosts = false;
      return this;
    }

    /**
     * Into how many partitions all grains are divided, 128 by default: about 10 for each node that
     * the cluster may ever have. The same on all nodes; changed only while none runs.
     */
    public Builder partitions(int count) {
      this.partitions = count;
      return this;
    }

    /** How long the start may take, a minute by default. */
    public Builder joinWithin(Duration limit) {
      this.joinWithin = limit;
      return this;
    }

    /**
     * Changes the limits of the links between nodes, for instance {@code links -> links
     * .withMaxMessageBytes(128 << 20)}. A later change is one of what the former has left.
     */
    public Builder links(UnaryOperator<LinkSettings> change) {
      var before = links;
      this.links = shipped -> change.apply(before.apply(shipped));
      return this;
    }

    /**
     * The keys for TLS on both ports, required of both sides. The authority must be one that signs
     * for this cluster only: each certificate of it admits to the cluster ({@link LinkSecurity}).
     */
    public Builder security(LinkSecurity security) {
      this.security = Optional.of(security);
      return this;
    }

    /**
     * Allows to listen beyond this machine without TLS: whoever reaches the ports can then read and
     * change everything. For networks that nobody else reaches.
     */
    public Builder plaintextBeyondThisMachine() {
      this.plaintextAnywhere = true;
      return this;
    }

    /**
     * Declares a node dead as soon as its connections were reset and its host refuses new ones,
     * rather than when it was not heard of for some seconds. Off by default: where something on the
     * way refuses connections for a host (a firewall, a load balancer), healthy nodes would be
     * removed. Only a node that is connected to more than half of the cluster acts on it; of two
     * nodes each may.
     */
    public Builder crashEvidence() {
      this.crashEvidence = true;
      return this;
    }

    /**
     * What to do after the node was fenced and has stopped, on a thread of its own; by default the
     * process exits with status {@value #EXIT_FENCED}, to be started anew.
     */
    public Builder whenFenced(Consumer<String> action) {
      this.whenFenced = action;
      return this;
    }

    ClusterSettings described() {
      return new ClusterSettings(
          name,
          host,
          bindHost == null ? host : bindHost,
          port,
          linkPort.orElse(port == 0 ? 0 : port + 1),
          operatorPort,
          hosts,
          partitions,
          seeds,
          joinWithin,
          security,
          plaintextAnywhere,
          crashEvidence);
    }

    /**
     * Joins the cluster. Blocks until the node takes part.
     *
     * @throws dev.evergreen.core.InvalidGrainException if a registered interface breaks a rule
     * @throws IllegalArgumentException if a setting makes no sense; the message names it
     * @throws IllegalStateException if a port is taken, or no cluster was joined in time
     */
    public ClusterNode start() {
      if (hosts && !unsharedStorage && !storage.shared()) {
        throw new IllegalArgumentException(
            "The nodes of a cluster need a storage that all share, for instance PostgresStorage; "
                + "with memoryOfEachProcess() a grain that moves to another node begins anew");
      }
      var node = new ClusterNode(this, described());
      try {
        node.join();
      } catch (RuntimeException | Error e) {
        node.close();
        throw e;
      }
      return node;
    }
  }
}
