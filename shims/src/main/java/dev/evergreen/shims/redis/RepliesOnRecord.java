package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Spool;
import dev.evergreen.provenance.SpooledBody;
import dev.evergreen.shims.Tape;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Puts what Redis says to an {@link OwnUpstream} on record. A message that comes in pieces goes
 * there as it comes, if it is known what it is, and else when that is known.
 *
 * <p>Of the upstream's reader. What is expected, and the standing, are guarded by the upstream's
 * lock, which it takes.
 */
final class RepliesOnRecord {
  /** A message that was cut in two is kept up to here, in bytes, until it is known what it is. */
  private static final int LONGEST_HELD = 64 << 10;

  private final Session session;
  private final Tape tape;
  private final ReplyScanner reply;
  private final Standing standing;
  private final ReentrantLock lock;
  private final ArrayDeque<Expected> expected;

  /** If it is watched what scripts do. */
  private final ScriptWatch.@Nullable Calls scripts;

  private @Nullable SpooledBody body;
  private @Nullable ByteArrayOutputStream held;
  private @Nullable SpooledBody confirmations;
  private long last = Spool.DROPPED;

  /**
   * Of an upstream that has nothing on record yet.
   *
   * @param reply what has come last
   * @param lock of the upstream
   * @param expected what it waits for
   */
  RepliesOnRecord(
      Session session,
      Tape tape,
      ReplyScanner reply,
      Standing standing,
      ReentrantLock lock,
      ArrayDeque<Expected> expected,
      ScriptWatch.@Nullable Calls scripts) {
    this.session = session;
    this.tape = tape;
    this.reply = reply;
    this.standing = standing;
    this.lock = lock;
    this.expected = expected;
    this.scripts = scripts;
  }

  /** The number of what was recorded last. */
  long last() {
    return last;
  }

  /** What has begun to come will not be known whole. */
  void cut() {
    lock.lock();
    try {
      if (body != null) {
        body.cut();
        body = null;
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Keeps what has come of a message for the record, and records it when it is whole.
   *
   * @param fresh whether it begins there
   * @param whole whether it has ended
   * @param lane by which it has come, on record
   */
  void add(ByteBuffer bytes, int from, boolean fresh, boolean whole, long lane) {
    lock.lock();
    try {
      addUnderLock(bytes, from, fresh, whole, lane);
    } finally {
      lock.unlock();
    }
  }

  private void addUnderLock(ByteBuffer bytes, int from, boolean fresh, boolean whole, long lane) {
    if (fresh && whole) {
      recordWhole(bytes, from, reply.at, lane);
      return;
    }
    if (fresh) {
      beginPieces();
    }
    if (held != null) {
      hold(held, bytes, from, lane);
    } else if (body != null) {
      body.add(bytes.limit(reply.at).position(from));
      bytes.clear();
    }
    if (whole && body != null) {
      recorded(body.end());
      body = null;
    } else if (whole && held != null) {
      var message = ByteBuffer.wrap(held.toByteArray());
      held = null;
      recordWhole(message, 0, message.capacity(), lane);
    }
  }

  /** Of what is too long to be kept, the beginning tells whether it is a push. */
  private void hold(ByteArrayOutputStream kept, ByteBuffer bytes, int from, long lane) {
    int n = Math.min(reply.at - from, LONGEST_HELD - kept.size());
    var piece = new byte[n];
    bytes.get(from, piece);
    kept.writeBytes(piece);
    if (n < reply.at - from && isPush()) {
      body = tape.beginPush(session.number, lane);
      if (body != null) {
        body.add(ByteBuffer.wrap(kept.toByteArray()));
        body.add(bytes.limit(reply.at).position(from + n));
        bytes.clear();
        held = null;
      }
    }
  }

  private boolean isPush() {
    lock.lock();
    try {
      return standing.meaning(expected.peekFirst()) == Standing.Meaning.PUSH;
    } finally {
      lock.unlock();
    }
  }

  private void recordWhole(ByteBuffer bytes, int from, int to, long lane) {
    lock.lock();
    try {
      var next = expected.peekFirst();
      var meaning = standing.meaning(next);
      if (meaning == Standing.Meaning.PUSH || next == null) {
        recorded(tape.push(session.number, lane, bytes, from, to));
      } else if (meaning == Standing.Meaning.CONFIRMATION && next.toConfirm > 1) {
        // One of several, which are the reply together.
        recordConfirmation(next, bytes, from, to);
      } else if (hides(next) && !reply.isNil()) {
        // The next scripts have effects of their own.
        var _ = effects(next);
        recorded(tape.hiddenReply(next.number(), reply.isError()));
      } else {
        recordReply(next, bytes, from, to);
      }
    } finally {
      lock.unlock();
    }
    bytes.clear();
  }

  private void recordReply(Expected next, ByteBuffer bytes, int from, int to) {
    var effects = effects(next);
    if (effects == null) {
      recorded(tape.reply(next.number(), bytes, from, to));
    } else {
      var whole = ByteBuffer.allocate(effects.length + to - from);
      whole.put(effects).put(effects.length, bytes, from, to - from);
      recorded(tape.reply(next.number(), whole, 0, whole.capacity()));
    }
  }

  /** What was dropped hides nothing that was not and leaves together with it. */
  private void recorded(long number) {
    last = Math.max(last, number);
  }

  private void recordConfirmation(Expected next, ByteBuffer bytes, int from, int to) {
    if (confirmations == null) {
      confirmations = tape.beginReply(next.number());
    }
    if (confirmations != null) {
      confirmations.add(bytes.limit(to).position(from));
      if (next.confirmed + 1 == next.toConfirm) {
        recorded(confirmations.end());
        confirmations = null;
      }
    }
  }

  private void beginPieces() {
    lock.lock();
    try {
      var next = expected.peekFirst();
      // What it is can be told by its end only, if messages may come between replies.
      boolean certain =
          next != null && !standing.mayPush() && !Standing.isOfPubSub(next.verb) && !hides(next);
      if (certain) {
        body = tape.beginReply(next.number());
        var effects = effects(next);
        if (body != null && effects != null) {
          body.add(ByteBuffer.wrap(effects));
        }
      } else {
        held = new ByteArrayOutputStream();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Whether the reply may hold credentials: its own, or that of a command of its transaction. */
  private boolean hides(Expected next) {
    return next.told.hidesReply() || (next.verb == Verb.EXEC && standing.queued.hidesReply());
  }

  /** What goes before a reply on record: what the scripts that it is of have carried out. */
  private byte @Nullable [] effects(Expected next) {
    if (scripts == null) {
      return null;
    }
    if (standing.queued.isUnsure() && (next.verb == Verb.SCRIPT || next.verb == Verb.EXEC)) {
      // Whether it was carried out before that will be known only when it is on record.
      scripts.doubt();
      return null;
    }
    if (next.verb == Verb.SCRIPT && !standing.queued.isOpen()) {
      var done = scripts.take(next.call, reply.isError());
      return done == null ? null : Effects.attribute(List.of(done));
    }
    if (next.verb != Verb.EXEC
        || reply.kind() != '*'
        || !standing.queued.holds(verb -> verb == Verb.SCRIPT)) {
      return null;
    }
    var all = new ArrayList<byte[]>();
    for (var one : standing.queued.all()) {
      var done = one.verb == Verb.SCRIPT ? scripts.take(one.call, reply.holdsError()) : null;
      if (done != null) {
        all.add(done);
      } else if (one.verb == Verb.SCRIPT) {
        return null;
      }
    }
    return Effects.attribute(all);
  }
}
