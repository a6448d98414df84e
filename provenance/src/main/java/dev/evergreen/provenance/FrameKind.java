package dev.evergreen.provenance;

/** What a frame of the spool tells. The numbers are those in the files. */
enum FrameKind {
  /** A process begins to record; what the one before it left open has no known outcome. */
  START(0),
  /** The process ends in order: whatever is open then has no known outcome. */
  END(1),
  /**
   * A store as it is from now on; text: its kind, its address, what is known of it; subjects: 1 if
   * something that this recorder has dropped may still take effect; and if nothing is left at the
   * process of what earlier recorders have sent, the number with which this one began.
   */
  EPOCH(2),
  /** A client's connection; subject: the epoch; text: address, name, user, protocol. */
  CONNECT(3),
  /** What has changed about a connection; text as before. */
  CHANGE(4),
  DISCONNECT(5),
  /** A connection to the store; subject: the epoch; text: what it is. */
  LANE(6),
  LANE_END(7),
  /** Subject: connection, lane; about: the scope. */
  REQUEST(8),
  /** About: the request's number. */
  REPLY(9),
  /** A message that answers no request; subject: connection, lane. */
  PUSH(10),
  /** About: the number of a request that gets no reply; body: one byte, the reason. */
  UNANSWERED(11),
  /** More of a body; about: the number of its first frame. */
  PIECE(12),
  /** The end of a body in pieces; about: the number of its first frame; body: length, SHA-256. */
  BODY_END(13),
  /** Something that did not pass the recorder; subject: the epoch; body: the evidence. */
  OUTSIDE(14),
  /**
   * Something is missing here; about: how many frames at least that had no room; first subject: 1
   * if something that was dropped may still take effect, 2 if not, 0 if it is not for want of room
   * (or of a former version, which did not tell); second subject: as with an epoch; text: why.
   */
  GAP(15);

  private static final FrameKind[] KINDS = values();

  private final byte code;

  FrameKind(int code) {
    this.code = (byte) code;
  }

  byte code() {
    return code;
  }

  static FrameKind of(byte number) {
    return KINDS[number];
  }

  static boolean known(byte number) {
    return number >= 0 && number < KINDS.length;
  }
}
