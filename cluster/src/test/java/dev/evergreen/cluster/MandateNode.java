package dev.evergreen.cluster;

import dev.evergreen.cluster.Gossip.Part;
import dev.evergreen.cluster.links.Reach;
import dev.evergreen.core.sim.VirtualTime;
import dev.evergreen.core.spi.GrainId;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.core.spi.StorageException;
import dev.evergreen.core.work.Workers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * A node of a {@link MandateWorld}: its mandate, and what decides about that, are those of every
 * node; what is Pekko's is a model. Pekko gives a partition to a node only when all who had it are
 * removed, as the oldest member knows, or have handed it over.
 */
final class MandateNode implements Members.Listener, Survivors.Node, Reach, LinkEvidence.Node {

  private static final long MILLI = 1_000_000;
  private static final long TICK = 200 * MILLI;
  private static final long PAUSE = 2_200 * MILLI;
  private static final long STABLE = 1_000 * MILLI;
  private static final int ENOUGH_LOOKS = 1 + (int) (PAUSE / TICK);
  private static final long WEAKLY = 1_500 * MILLI;
  private static final long CONNECTED = 900 * MILLI;
  private static final Duration UNREACHED = Duration.ofSeconds(4);
  private static final long HAND_OFF = 6_000 * MILLI;
  private static final int CLIENTS = 2;

  final NodeId id;
  final VirtualTime.Machine process;

  private final MandateWorld world;
  private final SplittableRandom random;
  private final Tenure tenure;
  private final Survivors survivors;
  private final Mandate mandate;
  private final Members members;
  private final ConcurrentHashMap<NodeId, Member> known = new ConcurrentHashMap<>();
  private final Map<Integer, Activation> here = new TreeMap<>();
  private final Set<NodeId> links = new HashSet<>();
  private final Map<NodeId, Long> heard = new HashMap<>();
  private final Map<NodeId, Long> heardByLink = new HashMap<>();
  private final LinkEvidence evidence;
  private final Set<NodeId> broken = new HashSet<>();
  private final Set<String> missedByLinks = new HashSet<>();
  private final Set<NodeId> exited = new HashSet<>();
  private final Map<NodeId, Long> removedAt = new HashMap<>();
  private Gossip gossip;
  private Set<NodeId> unreachable = Set.of();
  private Set<NodeId> resolving = Set.of();
  private long resolvingSince;
  private int looks;
  private long coordinatesSince = Long.MAX_VALUE;
  private long convergedAt;

  /** When the last older one was removed that had not left in good order. */
  private long givenUpAt = -MILLI * 1_000_000;

  private long toldUntil;
  private long leavingSince;
  private boolean leaving;

  /** Whether Pekko has just told that somebody was given up. */
  private boolean told;

  private boolean ends;

  /** Whether it goes on no more: it was given up. */
  boolean over;

  /** A partition on this node, and what it has in memory. */
  final class Activation {
    private long number;
    private boolean closing;
    private boolean busy;
    private boolean loaded;
    private long revision;

    MandateNode node() {
      return MandateNode.this;
    }

    /** In which order it was owned; 0 if it is not owned yet. */
    long number() {
      return number;
    }

    /** Whether it answers by a state from before this revision; who is not admitted does not. */
    boolean isBefore(long other) {
      return number > 0 && !closing && loaded && tenure.isAdmitted() && revision < other;
    }
  }

  MandateNode(MandateWorld world, NodeId id, Gossip gossip, SplittableRandom random) {
    this.world = world;
    this.id = id;
    this.random = random;
    this.gossip = gossip;
    this.process = world.time.machine(id.toString());
    var workers = new Workers(process, process, random);
    this.tenure =
        new Tenure(id, world.setting.byEvidence(), world.setting.otherwise(), this::ping, workers);
    this.survivors = new Survivors(tenure, workers, this);
    this.evidence =
        new LinkEvidence(id, known, missedByLinks, UNREACHED, tenure, process, this, this);
    this.members = new Members(id, known, this, () -> tell(this::toldAll));
    var states = world.states.new Seen(process, null);
    this.mandate =
        world.setting.fenced()
            ? new FencedMandate(id, states, tenure, this::roster, new FromFence(), workers)
            : new PingedMandate(states, tenure, workers, this::awaitAllTold);
  }

  void start() {
    tell(Gossip.of(List.of()), gossip);
    process.after(random.nextLong(TICK), this::tick);
    for (int i = 0; i < CLIENTS; i++) {
      process.start(this::client);
    }
  }

  boolean goesOn() {
    return !over && !ends && !process.isDead();
  }

  boolean isMember() {
    return gossip.is(id, Part.UP);
  }

  boolean knows(NodeId other) {
    return gossip.has(other);
  }

  boolean takesPart() {
    return gossip.has(id) && !gossip.is(id, Part.JOINING) && !gossip.is(id, Part.WEAKLY_UP);
  }

  boolean leaves() {
    return leaving;
  }

  Collection<Activation> activations(int partition) {
    var activation = here.get(partition);
    return activation == null ? List.of() : List.of(activation);
  }

  @Override
  public String toString() {
    return id + " " + gossip.parts() + " here " + here.keySet() + (over ? " fenced" : "");
  }

  // What Pekko tells

  private Member member(NodeId node, String status) {
    return new Member(node, 1, true, status, true);
  }

  private static String name(Part part) {
    return part.toString().replace("_", "").toLowerCase(Locale.ROOT);
  }

  private void become(Gossip now) {
    var before = gossip;
    gossip = now;
    if (!before.equals(now)) {
      tell(before, now);
    }
  }

  private void tell(Gossip before, Gossip now) {
    for (var node : before.parts().keySet()) {
      if (!now.has(node)) {
        removedAt.put(node, process.nanos());
        if (before.is(node, Part.DOWN) && node.incarnation() < id.incarnation()) {
          givenUpAt = process.nanos();
        }
        tell(() -> members.changed(member(node, "removed")));
      }
    }
    now.parts()
        .forEach(
            (node, part) -> {
              if (!before.is(node, part)) {
                heard.putIfAbsent(node, process.nanos());
                tell(() -> members.changed(member(node, name(part))));
              }
            });
    var missedThen = before.missedBy();
    var missedNow = now.missedBy();
    if (missedThen.equals(missedNow)) {
      return;
    }
    looks = 0;
    now.parts()
        .forEach(
            (node, part) -> {
              boolean missing = missedNow.containsKey(node);
              if (missing != missedThen.containsKey(node)) {
                tell(() -> members.reachable(member(node, name(part)).heard(!missing)));
              }
            });
    tell(() -> members.missed(missedNow));
  }

  /** Events come in their order, and later than the decisions. */
  private void tell(Runnable event) {
    long now = process.nanos();
    toldUntil = Math.max(toldUntil, now + random.nextLong(world.setting.eventNanos()));
    process.after(toldUntil - now, event);
  }

  private void toldAll() {
    members.toldAll();
  }

  private void awaitAllTold() {
    var waiting = Thread.currentThread();
    var told = new AtomicBoolean();
    tell(
        () -> {
          told.set(true);
          process.unpark(waiting);
        });
    process.await(told::get);
  }

  private Roster roster() {
    return Roster.of(
        gossip.parts().entrySet().stream()
            .map(entry -> member(entry.getKey(), name(entry.getValue()))));
  }

  @Override
  public void changed() {
    survivors.changed(known.values());
  }

  @Override
  public void belongs(Member member) {
    if (member.isExiting()) {
      survivors.exits(member.id());
    } else {
      links.add(member.id());
    }
  }

  @Override
  public void unreachable(Member member) {}

  @Override
  public void missed(Map<NodeId, Set<NodeId>> by) {
    evidence.missed(by);
  }

  @Override
  public void judged(NodeId node) {
    told = true;
    survivors.judged(node);
    told = false;
  }

  @Override
  public void givenUp(Set<NodeId> nodes) {
    survivors.givenUp(nodes);
  }

  @Override
  public void gone(Set<NodeId> nodes) {
    evidence.gone(nodes);
    survivors.gone(nodes);
  }

  @Override
  public void downed() {
    told = true;
    survivors.downed();
    told = false;
  }

  // What a node makes of it

  @Override
  public boolean isOver() {
    return over;
  }

  @Override
  public boolean isLeaving() {
    return leaving;
  }

  @Override
  public boolean isLinked(NodeId other) {
    return links.contains(other);
  }

  @Override
  public boolean isDead(NodeId other) {
    return evidence.isDead(other);
  }

  @Override
  public void lose(Set<NodeId> others) {
    links.removeAll(others);
    others.forEach(evidence::forget);
    broken.removeAll(others);
  }

  @Override
  public void forget(Set<NodeId> others) {}

  @Override
  public void agreed(Set<NodeId> gone) {}

  @Override
  public void fence() {
    if (!told) {
      world.checkMayEnd(this);
    }
    end();
  }

  private void end() {
    if (over || leaving) {
      return;
    }
    over = true;
    tenure.end();
    here.values().forEach(activation -> activation.closing = true);
    process.start(
        () -> {
          process.sleep(random.nextLong(500 * MILLI));
          stop();
        });
  }

  private void stop() {
    tenure.end();
    mandate.end();
    process.kill();
  }

  private final class FromFence implements FencedMandate.Listener {
    @Override
    public void gaveUp(NodeId other) {}

    @Override
    public void failed(Throwable reason) {
      world.checkExpected(reason);
    }

    @Override
    public void givenUp() {
      process.start(MandateNode.this::end);
    }
  }

  // Messages

  private void ping(NodeId to, long token) {
    if (links.contains(to)) {
      world.sendByLink(this, to, other -> other.pinged(id, token));
    }
  }

  private void pinged(NodeId from, long token) {
    var roster = roster();
    if (links.contains(from) && roster.members().contains(from) && tenure.mayAnswer(from, roster)) {
      world.sendByLink(this, from, other -> other.ponged(id, token));
    }
  }

  private void ponged(NodeId from, long token) {
    if (links.contains(from)) {
      tenure.answered(from, token);
    }
  }

  /** Who was removed is told so. */
  private boolean isGone(NodeId from) {
    boolean gone = gossip.removed().contains(from);
    if (gone) {
      world.send(this, from, MandateNode::removed);
    }
    return gone;
  }

  private void removed() {
    end();
  }

  private void gossiped(NodeId from, Gossip theirs) {
    if (isGone(from) || (over && !world.setting.pekkoEndsLater()) || !theirs.has(id)) {
      return;
    }
    if (!gossip.has(id)) {
      become(gossip.received(id, theirs));
    } else if (gossip.has(from) && !unreachable.contains(from)) {
      boolean outdated = theirs.isOlderThan(gossip);
      become(gossip.received(id, theirs));
      if (outdated) {
        send(from);
      }
    }
  }

  private void send(NodeId to) {
    var now = gossip;
    world.send(this, to, other -> other.gossiped(id, now));
  }

  private void heartbeat(NodeId from) {
    if (!isGone(from)) {
      world.send(this, from, other -> other.heard(id));
    }
  }

  private void heard(NodeId from) {
    heard.put(from, process.nanos());
    if (!hasLinksOfTheirOwn()) {
      broken.remove(from);
      evidence.connected(from);
    }
  }

  private void wantsToJoin(NodeId joining) {
    if (!isMember() || over) {
      return;
    }
    for (var node : gossip.parts().keySet()) {
      if (node.address().equals(joining.address()) && !node.equals(joining)) {
        down(node); // its former life
        return;
      }
    }
    if (!gossip.has(joining) && !gossip.removed().contains(joining)) {
      become(gossip.with(id, joining, Part.JOINING));
    }
    send(joining);
  }

  private void exited(NodeId other) {
    exited.add(other);
  }

  // What Pekko does

  private void tick() {
    process.after(TICK + random.nextLong(TICK / 4), this::tick);
    if (over && !world.setting.pekkoEndsLater()) {
      return;
    }
    if (!gossip.has(id)) {
      world.anyMember(this).ifPresent(other -> world.send(this, other.id, o -> o.wantsToJoin(id)));
      return;
    }
    lookWhoIsHeard();
    resolve();
    become(gossip.led(id, exited));
    if (gossip.converges(id, exited)) {
      convergedAt = process.nanos();
    } else if (process.nanos() - convergedAt > WEAKLY) {
      become(gossip.weakly(id));
    }
    if (!over) {
      gossipToSome();
      coordinate();
      goOnLeaving();
    }
  }

  private List<NodeId> others() {
    return gossip.parts().keySet().stream().filter(node -> !node.equals(id)).toList();
  }

  private void gossipToSome() {
    var others = others().stream().filter(node -> !unreachable.contains(node)).toList();
    if (!others.isEmpty()) {
      var behind = others.stream().filter(node -> !gossip.seen().contains(node)).toList();
      var from = behind.isEmpty() ? others : behind;
      send(from.get(random.nextInt(from.size())));
    }
  }

  private void lookWhoIsHeard() {
    var missing = new HashSet<NodeId>();
    var watched = watched();
    for (var other : watched) {
      world.send(this, other, o -> o.heartbeat(id));
    }
    for (var other : others()) {
      if (hasLinksOfTheirOwn() && links.contains(other)) {
        world.sendByLink(this, other, o -> o.heartbeatByLink(id));
      }
      if (world.setting.evidence() && world.refuses(this, other) && links.contains(other)) {
        if (broken.add(other)) {
          evidence.broken(other);
        }
        evidence.refused(other);
      }
    }
    evidence.look();
    for (var other : watched) {
      if (missedByLinks.contains(other.address()) || quietFor(other) > PAUSE) {
        missing.add(other);
      }
    }
    if (!missing.equals(unreachable)) {
      unreachable = Set.copyOf(missing);
      become(gossip.missing(id, unreachable));
    }
  }

  /** Pekko's ring: so many others that are heard, and those between who are not. */
  private List<NodeId> watched() {
    var others = others();
    if (others.size() < FewestDown.ALL_WATCHED) {
      return others;
    }
    var ring = new ArrayList<NodeId>();
    Predicate<NodeId> isAfter = node -> Member.NODES_BY_ADDRESS.compare(node, id) > 0;
    others.stream().filter(isAfter).forEach(ring::add);
    others.stream().filter(isAfter.negate()).forEach(ring::add);
    int reachable = 0;
    var watched = new ArrayList<NodeId>();
    for (var node : ring) {
      if (reachable == FewestDown.ALL_WATCHED - 1) {
        break;
      }
      heard.putIfAbsent(node, process.nanos());
      watched.add(node);
      reachable += unreachable.contains(node) ? 0 : 1;
    }
    heard.keySet().retainAll(watched); // the watch begins anew
    return watched;
  }

  private boolean hasLinksOfTheirOwn() {
    return world.setting.faults() == MandateWorld.Faults.RARE
        || world.setting.nodes() > FewestDown.ALL_WATCHED;
  }

  private void heartbeatByLink(NodeId from) {
    if (links.contains(from) && !over) {
      world.sendByLink(this, from, other -> other.heardByLink(id));
    }
  }

  private void heardByLink(NodeId from) {
    if (links.contains(from)) {
      heardByLink.put(from, process.nanos());
      broken.remove(from);
      evidence.connected(from);
    }
  }

  private long quietFor(NodeId other) {
    return process.nanos() - heard.getOrDefault(other, 0L);
  }

  private long quietByLink(NodeId other) {
    return hasLinksOfTheirOwn()
        ? process.nanos() - heardByLink.getOrDefault(other, process.nanos())
        : quietFor(other);
  }

  @Override
  public boolean isConnected(NodeId other) {
    return links.contains(other)
        && !broken.contains(other)
        && wasConnected(other)
        && quietByLink(other) < CONNECTED;
  }

  @Override
  public boolean wasConnected(NodeId other) {
    return (hasLinksOfTheirOwn() ? heardByLink : heard).containsKey(other);
  }

  @Override
  public long brokenNanos(NodeId other) {
    return !links.contains(other) || isConnected(other) ? 0 : quietByLink(other);
  }

  @Override
  public Collection<NodeId> all() {
    return List.copyOf(gossip.parts().keySet());
  }

  @Override
  public void misses(Member other, boolean asItsHostRefuses) {}

  @Override
  public void neverReached(Member own, Member other, long nanos) {}

  /** As an operator may, and who has evidence. */
  @Override
  public void giveUp(NodeId other) {
    if (over || !world.mayGiveUp(this, other)) {
      return;
    }
    if (evidence.memberCount() == 2) {
      tenure.left(other);
    }
    down(other);
  }

  boolean countsTwo() {
    return evidence.memberCount() <= 2;
  }

  private void down(NodeId other) {
    if (gossip.has(other) && !gossip.is(other, Part.DOWN)) {
      become(gossip.with(id, other, Part.DOWN));
    }
  }

  /** The resolver of split brains. */
  private void resolve() {
    var pairs = new HashSet<Set<NodeId>>();
    var missing = new HashSet<NodeId>();
    gossip
        .missedBy()
        .forEach(
            (subject, observers) -> {
              if (!gossip.is(subject, Part.DOWN)) {
                missing.add(subject);
                observers.forEach(observer -> pairs.add(Set.of(subject, observer)));
              }
            });
    long now = process.nanos();
    if (!missing.equals(resolving)) {
      resolving = missing;
      resolvingSince = now;
    }
    if (!missing.isEmpty() && now - resolvingSince > STABLE && gossip.isLeader(id)) {
      var gone = whoGoes(pairs, missing);
      if (gossip.parts().size() > FewestDown.ALL_WATCHED
          || FewestDown.isCertain(gone, roster().voters(), pairs)
          || ++looks > ENOUGH_LOOKS) {
        resolvingSince = now;
        gone.stream()
            .sorted((one, other) -> Boolean.compare(one.equals(id), other.equals(id)))
            .forEach(this::down);
      }
    }
  }

  private Set<NodeId> whoGoes(Set<Set<NodeId>> pairs, Set<NodeId> missing) {
    var fewest =
        gossip.parts().size() > FewestDown.ALL_WATCHED
            ? byPekko(missing)
            : FewestDown.fewest(pairs, Member.NODES_BY_ADDRESS);
    if (isMajorityWithout(fewest)) {
      return fewest;
    }
    if (isMajorityWithout(missing)) {
      return missing;
    }
    var smaller = new TreeSet<>(Member.NODES_BY_ADDRESS);
    smaller.addAll(gossip.parts().keySet());
    smaller.removeAll(missing);
    smaller.add(id);
    return smaller;
  }

  /** Who is missed; and of those who are heard by others, who misses them, too. */
  private Set<NodeId> byPekko(Set<NodeId> missing) {
    var missedBy = gossip.missedBy();
    var gone = new HashSet<>(missing);
    for (var subject : missing) {
      var observers = missedBy.getOrDefault(subject, Set.of());
      if (gossip.seen().contains(subject)) {
        gone.addAll(observers);
      }
    }
    return gone;
  }

  private boolean isMajorityWithout(Set<NodeId> gone) {
    var roster = roster();
    return FewestDown.outweigh(roster.voters(), roster.voters(), gone)
        && FewestDown.outweigh(roster.voters(), roster.possible(), gone);
  }

  /** The oldest member says who has which partition. */
  private void coordinate() {
    boolean oldest =
        (gossip.is(id, Part.UP) || gossip.is(id, Part.LEAVING))
            && gossip.parts().keySet().stream()
                .noneMatch(node -> node.incarnation() < id.incarnation());
    long now = process.nanos();
    if (!oldest) {
      coordinatesSince = Long.MAX_VALUE;
      return;
    }
    coordinatesSince = Math.min(coordinatesSince, now);
    long margin = world.setting.keepsMargin() ? world.setting.byEvidence().toNanos() : 0;
    if (now - givenUpAt < margin) {
      return; // the former coordinator may not have ended
    }
    for (int partition = 0; partition < MandateWorld.PARTITIONS; partition++) {
      place(partition, now, margin);
    }
  }

  private void place(int partition, long now, long margin) {
    var actors = world.actors(partition);
    for (var holder : actors) {
      if (gossip.has(holder.id)) {
        if (holder.leaving || random.nextInt(world.setting.movesOneIn()) == 0) {
          int moved = partition;
          world.send(this, holder.id, o -> o.handOff(moved));
        }
        return;
      }
      long at = removedAt.getOrDefault(holder.id, now - margin);
      if (at - coordinatesSince > 0 && now - at < margin) {
        return; // of what was before a coordinator is one it knows nothing
      }
    }
    var open =
        others().stream()
            .filter(node -> gossip.is(node, Part.UP) && !unreachable.contains(node))
            .collect(Collectors.toList());
    if (gossip.is(id, Part.UP) && !leaving) {
      open.add(id);
    }
    if (!open.isEmpty()) {
      world.place(this, partition, open.get(random.nextInt(open.size())));
    }
  }

  /** By the word of a coordinator; false if it cannot be by now. */
  boolean startActor(int partition, NodeId coordinator) {
    if (over || leaving || !gossip.has(coordinator)) {
      return false;
    }
    var activation = new Activation();
    here.put(partition, activation);
    process.start(
        () -> {
          if (mandate.takeOver() && here.get(partition) == activation && !activation.closing) {
            activation.number = world.nextNumber();
          }
        });
    return true;
  }

  private void handOff(int partition) {
    var activation = here.get(partition);
    if (activation == null || activation.closing) {
      return;
    }
    activation.closing = true;
    process.start(
        () -> {
          while (activation.busy) {
            process.sleep(5 * MILLI);
          }
          here.remove(partition, activation);
          world.actors(partition).remove(this);
        });
  }

  // Leaving

  void leave() {
    leaving = true;
    leavingSince = process.nanos();
  }

  private void goOnLeaving() {
    if (!leaving || ends) {
      return;
    }
    boolean handedOver = here.isEmpty() || process.nanos() - leavingSince > HAND_OFF;
    if (gossip.is(id, Part.UP) && (handedOver || others().isEmpty())) {
      become(gossip.with(id, id, Part.LEAVING));
    } else if (gossip.is(id, Part.EXITING) || process.nanos() - leavingSince > 2 * HAND_OFF) {
      ends = true;
      here.values().forEach(activation -> activation.closing = true);
      others().forEach(other -> world.send(this, other, o -> o.exited(id)));
      process.start(
          () -> {
            process.sleep(random.nextLong(300 * MILLI));
            stop();
          });
    }
  }

  // Clients

  private void client() {
    while (true) {
      process.sleep(random.nextLong(20 * MILLI, 120 * MILLI));
      int partition = random.nextInt(MandateWorld.PARTITIONS);
      var activation = here.get(partition);
      if (activation != null && activation.number > 0 && !activation.closing && !activation.busy) {
        activation.busy = true;
        try {
          operate(partition, activation);
        } finally {
          activation.busy = false;
        }
      }
    }
  }

  /** As a grain's state is loaded and saved by the core. */
  private void operate(int partition, Activation activation) {
    var grain = new GrainId("P", "p" + partition);
    long atLeast = world.acknowledged(partition);
    var storage = mandate.storage();
    boolean known = false;
    try {
      if (!activation.loaded) {
        activation.revision =
            storage.load(grain).map(Storage.Stored::revision).orElse(Storage.NONE);
        activation.loaded = true;
      }
      boolean writes = random.nextInt(3) > 0;
      if (writes) {
        activation.revision = storage.save(grain, activation.revision, new byte[0]);
      }
      known = (writes && storage.fenced()) || mandate.confirmed();
      if (known && !over) {
        world.acknowledge(partition, activation, activation.revision, atLeast, writes);
      }
    } catch (StorageException e) {
      world.checkExpected(e);
    } finally {
      activation.loaded &= known;
    }
  }
}
