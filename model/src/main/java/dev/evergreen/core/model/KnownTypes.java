package dev.evergreen.core.model;

import dev.evergreen.codec.Codec;
import dev.evergreen.codec.Limits;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What is known of the types of one class loader, and the same for all nodes of this process that
 * have the same limits: to find it out takes longer than all else that a node does when it starts.
 *
 * <p>The nodes keep it, and it keeps no other loader's types than those that types of its own are
 * made of. So a loader goes with the last node that has types of it.
 */
final class KnownTypes {

  /** Guarded by its own monitor. */
  private static final Map<ClassLoader, Map<Limits, WeakReference<KnownTypes>>> ALL =
      new WeakHashMap<>();

  private final Codec codec;
  private final Map<Class<?>, GrainModel> models = new ConcurrentHashMap<>();

  private KnownTypes(Codec codec) {
    this.codec = codec;
  }

  static KnownTypes of(ClassLoader loader, Limits limits) {
    synchronized (ALL) {
      var all = ALL.computeIfAbsent(loader, l -> new HashMap<>(2));
      var present = all.get(limits);
      var known = present == null ? null : present.get();
      if (known == null) {
        known = new KnownTypes(Codec.create(limits));
        all.put(limits, new WeakReference<>(known));
      }
      return known;
    }
  }

  Codec codec() {
    return codec;
  }

  /** Made without a lock, as comparers are made with it, which are the application's code. */
  GrainModel model(Class<?> type) {
    var known = models.get(type);
    if (known != null) {
      return known;
    }
    var made = new GrainModel(type, codec);
    var first = models.putIfAbsent(type, made);
    return first != null ? first : made;
  }
}
