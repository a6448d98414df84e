package dev.evergreen.shims;

import dev.evergreen.provenance.Batch;
import dev.evergreen.provenance.Client;
import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpooledBody;
import dev.evergreen.provenance.Unanswered;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a shim tells a {@link Spool}, or nobody. Bytes are given as a part of a buffer, whose
 * position and limit are lost.
 */
public final class Tape {
  private static final ByteBuffer HIDDEN = text("+<hidden>\r\n");
  private static final ByteBuffer HIDDEN_ERROR = text("-<hidden>\r\n");

  private final @Nullable Spool spool;
  private volatile long epoch;
  private volatile @Nullable Passing passing;

  /** Is told of each request before it is forwarded. */
  @FunctionalInterface
  public interface Passing {
    /** These bytes of a buffer are the request. */
    void passes(ByteBuffer bytes, int from, int to);
  }

  private static ByteBuffer text(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)).asReadOnlyBuffer();
  }

  /** Onto a spool, or nowhere. */
  public Tape(@Nullable Spool spool) {
    this.spool = spool;
  }

  /** Says that from here on the store is another one, as far as anybody can know. */
  public void epoch(String store, String server, String facts) {
    if (spool != null) {
      epoch = spool.epoch(store, server, facts);
    }
  }

  /** Whether others have recorded before, of whom something may be left at the store. */
  public boolean hasFormer() {
    return spool != null && spool.hasFormer();
  }

  /** Says that a process of the store will do nothing more of what these have sent. */
  public void formerIsOver(String process) {
    if (spool != null) {
      spool.formerIsOver(process);
    }
  }

  /** What the clock says by which is recorded. */
  public Instant now() {
    return spool == null ? Instant.now() : spool.now();
  }

  /** The number of the present epoch. */
  long epoch() {
    return epoch;
  }

  /**
   * Says that somebody who does not pass may have written; the kind of store reads the evidence.
   */
  public void outside(byte[] evidence) {
    if (spool != null) {
      spool.outside(epoch, ByteBuffer.wrap(evidence));
    }
  }

  /** Says that a client has come; answers the number of its connection. */
  public long connect(Client client) {
    return spool == null ? Spool.DROPPED : spool.connect(epoch, client);
  }

  /** Says what is known of a client from now on. */
  public void change(long connection, Client client) {
    if (spool != null) {
      spool.change(connection, client);
    }
  }

  /** Says that a client has gone. */
  public void disconnect(long connection) {
    if (spool != null) {
      spool.disconnect(connection);
    }
  }

  /** Says that there is a connection to the store; answers its number. */
  public long lane(String description) {
    return spool == null ? Spool.DROPPED : spool.lane(epoch, description);
  }

  /** Says that a connection to the store has ended, and whether the store has said so. */
  public void endLane(long lane, boolean byStore) {
    if (spool != null) {
      spool.endLane(lane, byStore);
    }
  }

  /** Tells somebody of all requests from now on, those apart that come in pieces. */
  public void tell(Passing passing) {
    this.passing = passing;
  }

  /** Who is told of requests, if anybody is. */
  public @Nullable Passing passing() {
    return passing;
  }

  /** Keeps a request, which is then to be sent; answers its number. */
  public long request(long connection, long lane, int scope, ByteBuffer bytes, int from, int to) {
    var told = passing;
    if (told != null) {
      told.passes(bytes, from, to);
    }
    return spool == null
        ? Spool.DROPPED
        : spool.request(connection, lane, scope, bytes.limit(to).position(from));
  }

  /**
   * Keeps requests of one connection, which are then to be sent one after the other; answers the
   * number of the first, which those of the others follow.
   */
  public long requests(long connection, long lane, int scope, Batch batch) {
    var told = passing;
    if (told != null) {
      for (int i = 0; i < batch.count(); i++) {
        told.passes(batch.bytes(), batch.start(i), batch.end(i));
      }
    }
    batch.bytes().clear();
    return spool == null ? Spool.DROPPED : spool.requests(connection, lane, scope, batch);
  }

  /** Begins to keep a request that comes in pieces. */
  public @Nullable SpooledBody beginRequest(long connection, long lane, int scope) {
    return spool == null ? null : spool.beginRequest(connection, lane, scope);
  }

  /** Keeps a reply; answers its own number, to be {@linkplain #settle settled}. */
  public long reply(long request, ByteBuffer bytes, int from, int to) {
    return spool == null ? Spool.DROPPED : spool.reply(request, bytes.limit(to).position(from));
  }

  /**
   * Keeps the replies to requests whose numbers follow that of the first; answers the last one's
   * own number.
   */
  public long replies(long request, Batch batch) {
    batch.bytes().clear();
    return spool == null ? Spool.DROPPED : spool.replies(request, batch);
  }

  /** Keeps that there was a reply, which is not to be known but for whether it was an error. */
  public long hiddenReply(long request, boolean error) {
    return spool == null
        ? Spool.DROPPED
        : spool.reply(request, (error ? HIDDEN_ERROR : HIDDEN).duplicate());
  }

  /** Begins to keep a reply that comes in pieces. */
  public @Nullable SpooledBody beginReply(long request) {
    return spool == null ? null : spool.beginReply(request);
  }

  /** Keeps what replies to nothing; answers its number, to be settled. */
  public long push(long connection, long lane, ByteBuffer bytes, int from, int to) {
    return spool == null
        ? Spool.DROPPED
        : spool.push(connection, lane, bytes.limit(to).position(from));
  }

  /** Begins to keep what replies to nothing and comes in pieces. */
  public @Nullable SpooledBody beginPush(long connection, long lane) {
    return spool == null ? null : spool.beginPush(connection, lane);
  }

  /** Says that a request has no reply. */
  public void unanswered(long request, Unanswered why) {
    if (spool != null) {
      spool.unanswered(request, why);
    }
  }

  /** Says that something is missing. */
  public void gap(String why) {
    if (spool != null) {
      spool.gap(why);
    }
  }

  /** Returns when what has a number, and all before it, is as durable as was asked for. */
  public void settle(long number) {
    if (spool != null) {
      spool.settle(number);
    }
  }
}
