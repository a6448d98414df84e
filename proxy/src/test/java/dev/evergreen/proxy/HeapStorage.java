package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.evergreen.proxy.storage.Appender;
import dev.evergreen.proxy.storage.Entry;
import dev.evergreen.proxy.storage.Lease;
import dev.evergreen.proxy.storage.Purge;
import dev.evergreen.proxy.storage.Selector;
import dev.evergreen.proxy.storage.Storage;
import dev.evergreen.proxy.storage.StorageStats;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A storage on the heap, without limits. */
final class HeapStorage implements Storage {
  private final Map<String, List<Kept>> records = new HashMap<>();
  private final List<Marked> marks = new ArrayList<>();
  private long stamps;

  private record Marked(Purge purge, String text, long stamp) {
    boolean covers(Kept record) {
      boolean named =
          switch (purge.kind()) {
            case URI -> record.key.equals(text);
            case TAG -> record.tags.contains(text);
            case PREFIX -> record.key.startsWith(text);
          };
      return named && record.stamp < stamp;
    }
  }

  private static final class Kept {
    String key = "";
    byte[] variant = {};
    volatile byte[] head = {};
    volatile List<String> tags = List.of();
    volatile long stamp;
    long length;
    final ByteArrayOutputStream body = new ByteArrayOutputStream();
    boolean ended;
    boolean failed;
  }

  private static String text(MemorySegment bytes) {
    return new String(bytes.toArray(ValueLayout.JAVA_BYTE), ISO_8859_1);
  }

  @Override
  public synchronized long stamp() {
    return ++stamps;
  }

  @Override
  public synchronized @Nullable Lease find(MemorySegment key, Selector selector) {
    for (var record : records.getOrDefault(text(key), List.of()).reversed()) {
      boolean gone = marks.stream().anyMatch(m -> !m.purge.soft() && m.covers(record));
      if (!gone && selector.takes(record.variant)) {
        return new Reading(record, Lease.Source.MEMORY);
      }
    }
    return null;
  }

  private final class Reading implements Lease {
    private final Kept record;
    private final Source source;

    Reading(Kept record, Source source) {
      this.record = record;
      this.source = source;
    }

    @Override
    public Source source() {
      return source;
    }

    @Override
    public ByteBuffer head() {
      return ByteBuffer.wrap(record.head).asReadOnlyBuffer();
    }

    @Override
    public long stamp() {
      return record.stamp;
    }

    @Override
    public boolean isStale() {
      synchronized (HeapStorage.this) {
        return marks.stream().anyMatch(m -> m.covers(record));
      }
    }

    @Override
    public long length() {
      synchronized (record) {
        return record.ended ? record.body.size() : record.length;
      }
    }

    @Override
    public ByteBuffer[] read(long offset, long most) throws IOException {
      synchronized (record) {
        while (record.body.size() <= offset && !record.ended) {
          try {
            record.wait();
          } catch (InterruptedException e) {
            throw new IOException(e);
          }
        }
        if (record.failed) {
          throw new IOException("incomplete");
        }
        var bytes = record.body.toByteArray();
        if (offset >= bytes.length) {
          return new ByteBuffer[0];
        }
        int count = (int) Math.min(most, bytes.length - offset);
        return new ByteBuffer[] {
          ByteBuffer.allocateDirect(count).put(bytes, (int) offset, count).flip()
        };
      }
    }

    @Override
    public void close() {}
  }

  @Override
  public Appender append(Entry entry) {
    var record = new Kept();
    record.key = text(entry.key());
    record.variant = entry.variant();
    record.head = entry.head();
    record.tags = entry.tags();
    record.stamp = entry.stamp();
    record.length = entry.length();
    return new Appender() {
      @Override
      public Lease follow() {
        return new Reading(record, Lease.Source.ORIGIN);
      }

      @Override
      public void append(ByteBuffer bytes) {
        synchronized (record) {
          while (bytes.hasRemaining()) {
            record.body.write(bytes.get());
          }
          record.notifyAll();
        }
      }

      @Override
      public boolean commit() {
        synchronized (record) {
          record.ended = true;
          record.notifyAll();
        }
        synchronized (HeapStorage.this) {
          var all = records.computeIfAbsent(record.key, _ -> new ArrayList<>());
          all.removeIf(
              r ->
                  r.variant.length == 0
                      || record.variant.length == 0
                      || Arrays.equals(r.variant, record.variant));
          all.add(record);
        }
        return true;
      }

      @Override
      public void close() {
        synchronized (record) {
          record.failed = !record.ended;
          record.ended = true;
          record.notifyAll();
        }
      }
    };
  }

  @Override
  public boolean replaceHead(Lease lease, byte[] head, List<String> tags, long stamp) {
    var record = ((Reading) lease).record;
    record.head = head;
    record.tags = tags;
    record.stamp = stamp;
    return true;
  }

  @Override
  public void purge(Purge purge) {
    invalidate(purge);
  }

  @Override
  public synchronized void invalidate(Purge purge) {
    marks.add(new Marked(purge, text(purge.bytes()), ++stamps));
  }

  @Override
  public StorageStats stats() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {}
}
