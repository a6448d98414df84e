package dev.evergreen.provenance;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request to a store with its reply, as it was recorded: an element of the trace.
 *
 * @param row its number in the trace, from 1 on. Operations of one lane took effect in the order of
 *     their rows.
 * @param epoch the life of the store in which it was sent: another one begins when the store
 *     restarts, is loaded or follows another, and for another recorder
 * @param lane the line to the store by which it went, from 1 on; 0 for a question that was never
 *     sent, which is of a time between those of sent and replied. The store serves a line in order,
 *     and between two lines only the times tell
 * @param connection the client's connection, which the trace knows more about
 * @param space what of the connection's state says what the request speaks of: of Redis the number
 *     of the database; empty if the kind of store has none, or nobody knows it
 * @param sent when the request was about to be sent to the store
 * @param replied when the reply's last byte had come, or null if none came. Of a question that was
 *     never sent null if it is known when it is asked
 * @param request the request as a list of byte strings, as the kind of store divides it: of Redis
 *     the command's words
 * @param reply the reply's bytes, or null if the outcome is unknown: so it is without a reply
 * @param parts the operations that the store carried out at this one's place, in order, each with
 *     its reply: those of a transaction. Empty for others
 * @param cut whether only the beginning of the request is on record, and what it says behind that
 *     is not known
 * @param within the row of the operation of which it is a part, or else its own
 * @param skew how far the store's clock is ahead of that by which it was recorded
 */
public record Operation(
    long row,
    long epoch,
    long lane,
    long connection,
    String space,
    Instant sent,
    @Nullable Instant replied,
    List<Bytes> request,
    @Nullable Bytes reply,
    List<Operation> parts,
    boolean cut,
    long within,
    Skew skew) {

  /** An operation of which the whole request is known, and which is no part. */
  public Operation(
      long row,
      long epoch,
      long lane,
      long connection,
      String space,
      Instant sent,
      @Nullable Instant replied,
      List<Bytes> request,
      @Nullable Bytes reply,
      List<Operation> parts) {
    this(
        row,
        epoch,
        lane,
        connection,
        space,
        sent,
        replied,
        request,
        reply,
        parts,
        false,
        row,
        Skew.NONE);
  }

  /** The same without parts. */
  public Operation(
      long row,
      long epoch,
      long lane,
      long connection,
      String space,
      Instant sent,
      @Nullable Instant replied,
      List<Bytes> request,
      @Nullable Bytes reply) {
    this(row, epoch, lane, connection, space, sent, replied, request, reply, List.of());
  }

  /** This operation with these parts. */
  public Operation with(List<Operation> others) {
    return with(space, others, skew);
  }

  /** This operation, of a store whose clock goes so. */
  public Operation with(Skew other) {
    return with(space, parts, other);
  }

  /** This operation, which speaks of another space than it was recorded with. */
  public Operation in(String other) {
    return with(other, parts, skew);
  }

  private Operation with(String otherSpace, List<Operation> otherParts, Skew otherSkew) {
    return new Operation(
        row,
        epoch,
        lane,
        connection,
        otherSpace,
        sent,
        replied,
        request,
        reply,
        otherParts,
        cut,
        within,
        otherSkew);
  }

  /**
   * This operation as the store carried it out as a part of another one: in its place, and at its
   * time.
   *
   * @param words what it was asked
   * @param own what was replied to this part
   */
  public Operation within(Operation whole, List<Bytes> words, @Nullable Bytes own) {
    return new Operation(
        row,
        epoch,
        whole.lane,
        connection,
        space,
        whole.sent,
        whole.replied,
        words,
        own,
        List.of(),
        cut,
        whole.row,
        skew);
  }

  /** Where it is among others, without what was said. */
  Operation place() {
    return new Operation(
        row,
        epoch,
        lane,
        0,
        "",
        sent,
        replied,
        List.of(),
        reply == null ? null : Bytes.EMPTY,
        List.of(),
        false,
        row,
        skew);
  }

  /** By its number, as what was said may be long. */
  @Override
  public int hashCode() {
    return Long.hashCode(row);
  }

  /** Whether no reply is known, so that the store may or may not have carried it out. */
  public boolean outcomeUnknown() {
    return reply == null
        || (!parts.isEmpty() && parts.stream().anyMatch(Operation::outcomeUnknown));
  }

  /** Whether it was never sent: somebody asks the trace what the reply would be. */
  boolean isAsked() {
    return lane == 0;
  }

  /** Whether it is a question about what the store would reply now, after all that is on record. */
  boolean isOfNow() {
    return row == Long.MAX_VALUE;
  }

  /** Whether the bytes of the reply are this text. */
  public boolean replied(String text) {
    return reply != null && reply.equals(Bytes.of(text));
  }

  /** How many bytes the request and the reply have, and those of its parts. */
  long bytes() {
    long sum = reply == null ? 0 : reply.length();
    for (var word : request) {
      sum += word.length();
    }
    for (var part : parts) {
      sum += part.bytes();
    }
    return sum;
  }

  /** The request as a text for people, its words separated by spaces. */
  public String text() {
    return String.join(" ", request.stream().map(Bytes::text).toList());
  }
}
