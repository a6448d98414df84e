package dev.evergreen.store.hits;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The simulated policies' common part: what is there and how large it is, as doubly linked queues
 * of key numbers. Expired items go at once, which is kind to all.
 */
abstract class Queues implements Policy {
  final long limit;
  final int[] size;
  final byte[] queue;
  final byte[] reads;
  private final int[] before;
  private final int[] after;
  private final int[] expiry;
  final long[] bytes;
  private final List<ArrayDeque<Integer>> expiring = new ArrayList<>();
  private int swept;

  /** Queue 0 is "not there"; a queue's sentinel is the number behind those of the keys. */
  Queues(int keys, int queues, long limit) {
    this.limit = limit;
    size = new int[keys];
    queue = new byte[keys];
    reads = new byte[keys];
    expiry = new int[keys];
    bytes = new long[queues];
    before = new int[keys + queues];
    after = new int[keys + queues];
    for (int i = 0; i < queues; i++) {
      before[keys + i] = keys + i;
      after[keys + i] = keys + i;
    }
  }

  abstract int charge(Request request);

  abstract void hit(int key);

  abstract void insert(int key);

  /** Makes room until all queues together are within the limit. */
  abstract void evict();

  @Override
  public boolean get(Request request, int now) {
    for (; swept < now && swept < expiring.size(); swept++) {
      for (int key : expiring.get(swept)) {
        if (queue[key] != 0 && expiry[key] == swept) {
          remove(key);
        }
      }
      expiring.set(swept, new ArrayDeque<>());
    }
    int key = request.key();
    if (queue[key] != 0) {
      hit(key);
      return true;
    }
    size[key] = charge(request);
    reads[key] = 0;
    insert(key);
    expiry[key] = 0;
    if (request.lifetime() > 0) {
      expiry[key] = now + request.lifetime();
      while (expiring.size() <= expiry[key]) {
        expiring.add(new ArrayDeque<>());
      }
      expiring.get(expiry[key]).add(key);
    }
    if (total() > limit) {
      evict();
    }
    return false;
  }

  long total() {
    return Arrays.stream(bytes).sum();
  }

  void push(int key, int to) {
    int head = size.length + to;
    after[key] = after[head];
    before[key] = head;
    before[after[head]] = key;
    after[head] = key;
    queue[key] = (byte) to;
    bytes[to] += size[key];
  }

  void remove(int key) {
    after[before[key]] = after[key];
    before[after[key]] = before[key];
    bytes[queue[key]] -= size[key];
    queue[key] = 0;
  }

  void move(int key, int to) {
    remove(key);
    push(key, to);
  }

  /** The oldest in the queue. */
  int tail(int of) {
    return before[size.length + of];
  }
}
