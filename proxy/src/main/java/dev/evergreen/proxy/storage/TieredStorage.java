package dev.evergreen.proxy.storage;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.store.Hash;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The two tiers as one.
 *
 * <p>A response goes to memory when it was received, and to disk as well while the log keeps up and
 * the directory has room; on a full disk 2,000 a second do. Else it goes there at <em>second
 * sight</em> only: at its first hit, or when it is stored again soon. What is too large for memory
 * goes to disk at once. What is found on disk and fits is also put into memory.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>Of one object with its key and variant, what the directory of the disk has is the same as
 *       what memory has, but for a moment in which one of the two is being changed. So whoever
 *       stores in one tier removes from the other afterwards, and whoever copies from one to the
 *       other looks afterwards whether it was replaced meanwhile ({@link Generations}).
 *   <li>What was asked for earlier never takes the place of what was asked for later, whichever
 *       comes first ({@link UnderWay}).
 *   <li>Whatever is found is asked of the {@link Marks}, at each lookup. Nothing has to be removed
 *       for a purge to hold; it is removed when it is met.
 * </ul>
 */
final class TieredStorage implements Storage {
  private static final int LOCKS = 64;
  private static final byte[] NOTHING = {};
  private static final long UPKEEP_MILLIS = 100;

  /** With fewer marks than this nothing is forgotten. */
  private static final int FEW_MARKS = 1 << 12;

  private final StorageOptions options;
  private final Hash hash;
  private final Marks marks;
  private final MemoryTier memory;
  private final @Nullable DiskTier disk;
  private final Counts counts;
  private final Semaphore collecting;
  private final Sightings sightings = new Sightings();
  private final Generations generations = new Generations();
  private final UnderWay underWay = new UnderWay();

  /** The generations of objects that are not in the directory yet. Of the log's thread. */
  private final Map<Long, Long> beingWritten = new HashMap<>();

  private final ReentrantLock[] listLocks = new ReentrantLock[LOCKS];
  private final Thread upkeep;
  private volatile boolean closing;

  private TieredStorage(StorageOptions options, @Nullable DiskTier disk, Counts counts) {
    this.options = options;
    this.disk = disk;
    this.counts = counts;
    hash = disk == null ? Hash.random() : disk.hash;
    marks = disk == null ? new Marks(hash, Marks.MOST) : disk.marks;
    memory = new MemoryTier(options.memory(), options.memoryObject());
    long mostCollected = options.memory() / 4 / Buffers.SIZE;
    collecting = new Semaphore((int) Math.min(Integer.MAX_VALUE, mostCollected));
    for (int i = 0; i < LOCKS; i++) {
      listLocks[i] = new ReentrantLock();
    }
    upkeep = Thread.ofPlatform().daemon().name("storage-upkeep").start(this::keepUp);
  }

  static TieredStorage open(StorageOptions options) throws IOException {
    var directory = options.directory();
    return open(options, directory == null ? null : new Volume(directory));
  }

  /** Opens it with files that are accessed in a certain way. */
  static TieredStorage open(StorageOptions options, @Nullable Volume volume) throws IOException {
    var counts = new Counts();
    if (volume == null) {
      return new TieredStorage(options, null, counts);
    }
    try {
      var disk = new DiskTier(volume, options, counts, Marks.MOST);
      return new TieredStorage(options, disk, counts);
    } catch (IOException | RuntimeException e) {
      volume.close();
      throw e;
    }
  }

  MemoryTier memory() {
    return memory;
  }

  @Nullable DiskTier disk() {
    return disk;
  }

  /**
   * Permits for the buffers of responses that are being received for the memory, beyond the first
   * of each: a quarter of the memory, beside it.
   */
  Semaphore collecting() {
    return collecting;
  }

  Counts counts() {
    return counts;
  }

  long patienceNanos() {
    return options.patience().toNanos();
  }

  @Override
  public long stamp() {
    return marks.stamp();
  }

  @Override
  public Question ask(MemorySegment key) {
    long uri = hashOf(key);
    underWay.begin(uri);
    return new Asked(uri);
  }

  /** It was entered before it gets its stamp: who does not see it comes before it. */
  private final class Asked implements Question {
    private final long uri;
    private final long stamp = marks.stamp();

    Asked(long uri) {
      this.uri = uri;
    }

    @Override
    public long stamp() {
      return stamp;
    }

    @Override
    public void close() {
      underWay.end(uri);
    }
  }

  UnderWay underWay() {
    return underWay;
  }

  long hashOf(MemorySegment key) {
    return hash.of(key, 0, Math.toIntExact(key.byteSize()));
  }

  private long hashOf(long uri, byte[] variant) {
    return variant.length == 0
        ? uri
        : (uri ^ hash.of(MemorySegment.ofArray(variant), 0, variant.length)) * 0x9E3779B97F4A7C15L;
  }

  // Finding

  @Override
  public @Nullable Lease find(MemorySegment key, Selector selector, Recipient recipient) {
    long uri = hashOf(key);
    var found = lookUp(uri, key, NOTHING, recipient);
    if (found != null && found.image.kind == Image.VARIANTS) {
      found = choose(found, uri, key, selector, recipient);
    } else if (found != null && !selector.takes(NOTHING)) {
      found.close();
      found = null;
    }
    count(found);
    return found;
  }

  @Override
  public List<Lease> findAll(MemorySegment key, int most, Selector which, Recipient recipient) {
    long uri = hashOf(key);
    var first = lookUp(uri, key, NOTHING, recipient);
    if (first == null) {
      return List.of();
    }
    if (first.image.kind != Image.VARIANTS) {
      return only(first, which);
    }
    var found = new ArrayList<Lease>();
    boolean done = false;
    try {
      for (var variant : variants(first).variants()) {
        boolean wanted = found.size() < most && which.takes(variant);
        var next = wanted ? lookUp(hashOf(uri, variant), key, variant, recipient) : null;
        if (next != null) {
          found.add(next);
        }
      }
      done = true;
      return found;
    } finally {
      if (!done) {
        found.forEach(Lease::close); // There may have been no buffer for the next.
      }
    }
  }

  private static List<Lease> only(Leases.Stored found, Selector which) {
    if (which.takes(NOTHING)) {
      return List.of(found);
    }
    found.close();
    return List.of();
  }

  private void count(Leases.@Nullable Stored found) {
    switch (found) {
      case null -> counts.misses.increment();
      case Leases.OfMemory hit -> counts.memoryHits.increment();
      case Leases.OfMemoryUnheld hit -> counts.memoryHits.increment();
      case Leases.OfDisk hit -> counts.diskHits.increment();
    }
  }

  private Leases.@Nullable Stored choose(
      Leases.Stored list, long uri, MemorySegment key, Selector selector, Recipient recipient) {
    Leases.Stored chosen = null;
    for (var variant : variants(list).variants()) {
      if (selector.takes(variant)) {
        chosen = chosen(chosen, lookUp(hashOf(uri, variant), key, variant, recipient), selector);
      }
    }
    return chosen;
  }

  /** One of the two, each of which may be missing; lets go of the other. */
  private static Leases.@Nullable Stored chosen(
      Leases.@Nullable Stored last, Leases.@Nullable Stored earlier, Selector selector) {
    if (last == null || earlier == null) {
      return last == null ? earlier : last;
    }
    boolean prefers = selector.prefers(earlier.head(), last.head());
    (prefers ? last : earlier).close();
    return prefers ? earlier : last;
  }

  /** Reads a list and lets go of it. */
  private static VariantList variants(Leases.Stored list) {
    try (list) {
      return VariantList.of(list.image.bytes.copy(list.image.bodyAt(), list.image.bodyLength()));
    }
  }

  private Leases.@Nullable Stored lookUp(
      long hash, MemorySegment key, byte[] variant, Recipient recipient) {
    var found =
        switch (memory.find(hash, recipient)) {
          case null -> null;
          case MemoryTier.Held held -> inMemory(held, hash, key, variant);
          case MemoryTier.Unheld unheld -> inMemory(unheld, hash, key, variant);
        };
    if (found != null) {
      return found;
    }
    if (disk == null) {
      return null;
    }
    long generation = generations.get(hash);
    long place = disk.directory.hit(hash);
    var object = place == 0 ? null : disk.read(hash, place, recipient);
    return object == null ? null : onDisk(disk, object, hash, generation, key, variant);
  }

  private Leases.@Nullable Stored inMemory(
      MemoryTier.Held held, long hash, MemorySegment key, byte[] variant) {
    var image = new Image(held);
    if (!image.hasKey(key) || !image.hasVariant(variant)) {
      held.close();
      return null;
    }
    var state = marks.state(held.stamp, image);
    if (state == Marks.State.GONE) {
      held.close();
      memory.remove(hash, held.stamp);
      return null;
    }
    if (held.isFirstHit) {
      admit(hash);
    }
    return new Leases.OfMemory(image, held, hash, state == Marks.State.STALE);
  }

  private Leases.@Nullable Stored inMemory(
      MemoryTier.Unheld unheld, long hash, MemorySegment key, byte[] variant) {
    var image = new Image(Bytes.of(MemorySegment.ofArray(unheld.prefix)));
    if (!image.hasKey(key) || !image.hasVariant(variant) || image.kind == Image.VARIANTS) {
      return null;
    }
    var state = marks.state(unheld.stamp, image);
    if (state == Marks.State.GONE) {
      memory.remove(hash, unheld.stamp);
      return null;
    }
    return new Leases.OfMemoryUnheld(image, unheld, hash, state == Marks.State.STALE);
  }

  private Leases.@Nullable Stored onDisk(
      DiskTier disk,
      DiskObject object,
      long hash,
      long generation,
      MemorySegment key,
      byte[] variant) {
    if (!object.image.hasKey(key) || !object.image.hasVariant(variant)) {
      object.close();
      return null;
    }
    var state = marks.state(object.record.stamp(), object.image);
    if (state == Marks.State.GONE) {
      boolean unused = disk.directory.remove(hash, object.place);
      object.close();
      return null;
    }
    promote(object, hash, generation);
    return new Leases.OfDisk(object, disk, state == Marks.State.STALE);
  }

  /** Puts an object that was found on disk into memory, unless something else came up. */
  private void promote(DiskObject object, long hash, long generation) {
    var image = object.image;
    if (object.hasPieces() || !memory.takes(image.bytes.length())) {
      return;
    }
    long stamp = object.record.stamp();
    var bytes = List.of(image.bytes.from(0));
    if (memory.add(hash, stamp, NOTHING, bytes) && generations.get(hash) != generation) {
      memory.remove(hash, stamp);
    }
  }

  // Storing

  @Override
  public Appender append(Entry entry, Recipient recipient) {
    long uri = hashOf(entry.key());
    var prefix =
        Image.prefix(
            Image.RESPONSE, tags(entry.tags()), entry.key(), entry.variant(), entry.head());
    return new Growing(this, entry, prefix, hashOf(uri, entry.variant()), recipient);
  }

  private long[] tags(List<String> tags) {
    return tags.stream().mapToLong(tag -> Marks.tag(hash, tag)).toArray();
  }

  /** Stores a response that was received completely. */
  boolean putInMemory(Entry entry, byte[] prefix, long uri, long hash, List<MemorySegment> body) {
    var image = new Image(Bytes.of(MemorySegment.ofArray(prefix)));
    if (marks.state(entry.stamp(), image) == Marks.State.GONE) {
      return false;
    }
    if (!put(uri, hash, entry.stamp(), prefix, body)) {
      return false;
    }
    list(image, hash, entry.stamp());
    return true;
  }

  private boolean put(long uri, long hash, long stamp, byte[] prefix, List<MemorySegment> body) {
    return store(uri, hash, stamp, () -> memory.put(hash, stamp, prefix, body));
  }

  /** Puts something into memory, unless what is there was asked for later. */
  private boolean store(long uri, long hash, long stamp, BooleanSupplier putting) {
    return underWay.store(
        uri,
        hash,
        stamp,
        () -> {
          boolean done = putting.getAsBoolean();
          if (done) {
            superseded(hash);
          }
          return done;
        });
  }

  /** Memory has a newer object than the disk. */
  private void superseded(long hash) {
    if (disk != null) {
      generations.replaced(hash);
      boolean wasOnDisk = disk.directory.remove(hash);
      boolean again = sightings.again(hash);
      if (again || wasOnDisk || (disk.directory.isRoomy(hash) && disk.log.takesMore())) {
        admit(hash);
      }
    }
  }

  /**
   * Lets a large response be found that is on disk, but for its variant's place on the list. Called
   * by the log's thread, which alone knows that the place is not used for something else by now.
   */
  boolean enterOnDisk(Entry entry, byte[] prefix, long uri, long hash, long place) {
    var image = new Image(Bytes.of(MemorySegment.ofArray(prefix)));
    var tier = disk;
    return tier != null
        && marks.state(entry.stamp(), image) != Marks.State.GONE
        && underWay.store(uri, hash, entry.stamp(), () -> enter(tier, hash, place));
  }

  private boolean enter(DiskTier disk, long hash, long place) {
    if (!disk.directory.put(hash, place)) {
      return false;
    }
    generations.replaced(hash);
    memory.remove(hash);
    return true;
  }

  /** Puts a variant on its URI's list, behind those that were asked for later. */
  void list(Image image, long hash, long stamp) {
    if (image.variantLength == 0) {
      return;
    }
    var key = MemorySegment.ofArray(image.bytes.copy(image.keyAt(), image.keyLength));
    var variant = image.bytes.copy(image.variantAt(), image.variantLength);
    long uri = hashOf(key);
    var lock = listLocks[(int) uri & (LOCKS - 1)];
    lock.lock();
    try {
      if (underWay.hasLater(uri, hash, stamp)) {
        return; // It is another's by now, who lists it where that belongs.
      }
      var present = lookUp(uri, key, NOTHING, new Recipient());
      var listed = new VariantList(List.of());
      long listedStamp = stamp;
      if (present != null && present.image.kind == Image.VARIANTS) {
        listedStamp = Math.max(stamp, present.stamp());
        listed = variants(present);
      } else if (present != null) {
        present.close();
      }
      if (!listed.beginsWith(variant)) {
        var bytes =
            listed
                .with(variant, other -> underWay.hasLater(uri, hashOf(uri, other), stamp))
                .toBytes();
        var prefix = Image.prefix(Image.VARIANTS, new long[0], key, NOTHING, NOTHING);
        boolean unused = put(uri, uri, listedStamp, prefix, List.of(MemorySegment.ofArray(bytes)));
      }
    } finally {
      lock.unlock();
    }
    if (disk != null && disk.directory.get(hash) != 0) {
      admit(uri);
    }
  }

  /** Has an object written to disk, if it is not there. */
  private void admit(long hash) {
    if (disk != null) {
      disk.log.offer(new Admission(disk, hash));
    }
  }

  /** Writes an object of the memory to disk, and the list that it is on if need be. */
  private final class Admission extends SegmentLog.Job {
    private final DiskTier disk;
    private final long hash;
    private long generation;
    private long place;

    Admission(DiskTier disk, long hash) {
      this.disk = disk;
      this.hash = hash;
    }

    @Override
    void write(SegmentLog log) throws IOException {
      if (disk.directory.get(hash) != 0) {
        return;
      }
      generation = generations.get(hash);
      try (var held = memory.peek(hash)) {
        if (held == null || Objects.equals(beingWritten.get(hash), generation)) {
          return;
        }
        var image = new Image(held);
        if (marks.state(held.stamp, image) == Marks.State.LIVE) {
          place = ObjectWriter.write(log, hash, held.stamp, image);
          beingWritten.put(hash, generation);
          if (image.variantLength > 0) {
            admit(hashOf(MemorySegment.ofArray(image.bytes.copy(image.keyAt(), image.keyLength))));
          }
        }
      }
    }

    @Override
    void written() {
      if (place == 0) {
        return;
      }
      beingWritten.remove(hash, generation);
      if (generations.get(hash) == generation) {
        boolean unused = disk.directory.put(hash, place);
        if (generations.get(hash) != generation) {
          unused = disk.directory.remove(hash, place);
        }
      }
    }

    @Override
    void failed() {
      beingWritten.remove(hash, generation);
    }
  }

  @Override
  public boolean replaceHead(Lease lease, byte[] head, List<String> tags, long stamp) {
    if (!(lease instanceof Leases.Stored stored) || lease instanceof Leases.OfMemoryUnheld) {
      return false;
    }
    Entry.check("head", head.length, 0, Entry.MAX_HEAD);
    var image = stored.image;
    // By its new stamp it would come back. Of a purge behind this that is older, too.
    if (marks.state(stored.present(), image) == Marks.State.GONE) {
      return false;
    }
    var key = MemorySegment.ofArray(image.bytes.copy(image.keyAt(), image.keyLength));
    var variant = image.bytes.copy(image.variantAt(), image.variantLength);
    var prefix = Image.prefix(Image.RESPONSE, tags(tags), key, variant, head);
    long uri = hashOf(key);
    if (stored instanceof Leases.OfDisk large && large.object.hasPieces()) {
      return disk != null && replaceLarge(disk, large.object, uri, stored.hash, prefix, stamp);
    }
    var body =
        List.of(image.bytes.pieces(image.bodyAt(), image.bodyLength())).stream()
            .map(MemorySegment::ofBuffer)
            .toList();
    if (!store(uri, stored.hash, stamp, () -> replaceInMemory(stored, prefix, body, stamp))) {
      return false;
    }
    list(new Image(Bytes.of(MemorySegment.ofArray(prefix))), stored.hash, stamp);
    return true;
  }

  private boolean replaceInMemory(
      Leases.Stored stored, byte[] prefix, List<MemorySegment> body, long stamp) {
    long hash = stored.hash;
    if (memory.replace(hash, stored.present(), stamp, prefix, body)) {
      return true;
    }
    // What is on disk only may have left memory, or never been there.
    return disk != null
        && stored instanceof Leases.OfDisk onDisk
        && Place.isSame(disk.directory.get(hash), onDisk.object.place)
        && memory.add(hash, stamp, prefix, body);
  }

  private boolean replaceLarge(
      DiskTier disk, DiskObject object, long uri, long hash, byte[] prefix, long stamp) {
    var job =
        new ObjectWriter.Again(
            object,
            hash,
            prefix,
            stamp,
            () -> Place.isSame(disk.directory.get(hash), object.place),
            place ->
                underWay.store(
                    uri, hash, stamp, () -> disk.directory.replace(hash, object.place, place)));
    return disk.log.submit(job) && job.done.join();
  }

  // Purging

  @Override
  public void purge(Purge purge) throws IOException {
    var mark = mark(purge);
    if (disk != null) {
      IoThreads.await(disk.append(mark));
    }
  }

  @Override
  public void invalidate(Purge purge) {
    if (purge.kind() == Purge.Kind.URI && !mayBeThere(hashOf(purge.bytes()))) {
      counts.purges.increment();
      return;
    }
    var mark = mark(purge);
    if (disk != null) {
      var unused = disk.append(mark);
    }
  }

  /**
   * Whether something of a URI may be stored that was asked for before now. Else an invalidation
   * needs no mark, so that whoever invalidates many URIs that nobody has asked for makes none.
   *
   * <p>What is under way is looked at first: it is in memory, if it is to be there at all, before
   * it is under way no more. A variant is found by its URI's list only, so what is not on one needs
   * no mark either. The list gets it anew only from who stores it anew, or validates it, and asks
   * for that after now. On disk there may be what the directory does not know of until the next
   * start, as memory had something newer.
   */
  private boolean mayBeThere(long uri) {
    return disk != null || underWay.has(uri) || memory.has(uri);
  }

  private Marks.Mark mark(Purge purge) {
    counts.purges.increment();
    return marks.mark(purge);
  }

  // Keeping it in order

  private void keepUp() {
    while (!closing) {
      memory.maintain();
      if (disk != null && marks.count() > FEW_MARKS) {
        forget(disk);
      }
      try {
        TimeUnit.MILLISECONDS.sleep(UPKEEP_MILLIS);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  /** Forgets the marks of what is not on disk any more; what is so old in memory is given up. */
  private void forget(DiskTier disk) {
    long oldest = disk.log.oldest();
    if (disk.log.hasWrapped() && oldest > marks.floor() && marks.hasBelow(oldest)) {
      marks.raiseFloor(oldest);
      var unused = disk.append(new Marks.Mark(oldest, PurgeLog.FLOOR, false, 0, 0));
    }
  }

  @Override
  public StorageStats stats() {
    var inMemory = memory.stats();
    return new StorageStats(
        inMemory.items(),
        inMemory.bytes(),
        inMemory.limit(),
        inMemory.indexBytes(),
        counts.memoryHits.sum(),
        disk == null ? 0 : disk.directory.objects(),
        disk == null ? 0 : (long) disk.log.usedSegments() * options.segment(),
        disk == null ? 0 : (long) disk.log.segments() * options.segment(),
        disk == null ? 0 : disk.directory.bytes(),
        counts.diskHits.sum(),
        counts.misses.sum(),
        counts.stored.sum(),
        counts.unstored.sum(),
        counts.abandoned.sum(),
        inMemory.evictions(),
        counts.evictedDisk.sum(),
        counts.keptDisk.sum(),
        counts.diskWrites.sum(),
        counts.diskErrors.sum(),
        counts.corrupt.sum(),
        counts.purges.sum(),
        marks.count());
  }

  @Override
  public void close() {
    closing = true;
    upkeep.interrupt();
    try {
      upkeep.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (disk != null) {
      disk.close();
    }
    memory.close();
  }
}
