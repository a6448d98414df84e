package dev.evergreen.cluster.links;

import dev.evergreen.core.spi.NodeId;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;

/**
 * The first bytes of a connection: the node that dials says hello, the other one answers. Each is
 * the magic number, two bytes of length, and that many bytes; what later versions append is passed
 * over.
 */
final class Handshake {

  private static final int MAGIC = 0x4556_474C; // EVGL
  private static final int HEAD = 6;
  private static final int MAX_LENGTH = 4 << 10;

  /** The versions of the protocol that this one speaks. */
  static final int LOWEST = 1;

  static final int HIGHEST = 1;

  /** What comes of a hello. */
  enum Verdict {
    /** Frames follow. */
    WELCOME,
    /** No version is spoken by both. */
    OTHER_VERSION,
    OTHER_CLUSTER,
    /** The address is that of another node, or of another life of the node. */
    NOT_ADDRESSED,
    /** The one who dials was removed for good. */
    REMOVED,
    /** The one who dials is not a member yet, as far as is known here. */
    NOT_YET,
    /** The other of the two is to dial, or the former connection has not ended: try again. */
    NOT_NOW,
    /** The certificate of the one who dials is not for its host. */
    NOT_CERTIFIED
  }

  /** In the order of their numbers on the wire. */
  private static final List<Verdict> VERDICTS =
      List.of(
          Verdict.WELCOME,
          Verdict.OTHER_VERSION,
          Verdict.OTHER_CLUSTER,
          Verdict.NOT_ADDRESSED,
          Verdict.REMOVED,
          Verdict.NOT_YET,
          Verdict.NOT_NOW,
          Verdict.NOT_CERTIFIED);

  /** What the node that dials says. */
  record Hello(int lowest, int highest, String cluster, NodeId from, NodeId to) {}

  /**
   * What the other one answers.
   *
   * @param version of the frames that follow
   */
  record Answer(Verdict verdict, int version, NodeId from) {}

  private Handshake() {}

  static void write(OutputStream out, Hello hello) throws IOException {
    var body = new ByteWriter(128);
    body.varint(hello.lowest());
    body.varint(hello.highest());
    body.text(hello.cluster());
    MessageCodec.node(body, hello.from());
    MessageCodec.node(body, hello.to());
    write(out, body);
  }

  static void write(OutputStream out, Answer answer) throws IOException {
    var body = new ByteWriter(64);
    body.u8(VERDICTS.indexOf(answer.verdict()));
    body.varint(answer.version());
    MessageCodec.node(body, answer.from());
    write(out, body);
  }

  private static void write(OutputStream out, ByteWriter body) throws IOException {
    var all = new ByteWriter(HEAD + body.size());
    all.fixed4(MAGIC);
    all.fixed2(body.size());
    all.raw(Arrays.copyOf(body.bytes(), body.size()));
    out.write(all.bytes(), 0, all.size());
  }

  /**
   * @throws EOFException if the other side went without a word
   */
  static Hello readHello(FrameInput in) throws IOException, MalformedMessageException {
    var body = read(in);
    return new Hello(
        number(body), number(body), body.text(), MessageCodec.node(body), MessageCodec.node(body));
  }

  static Answer readAnswer(FrameInput in) throws IOException, MalformedMessageException {
    var body = read(in);
    int verdict = body.u8();
    // A later version may have other reasons to refuse.
    return new Answer(
        verdict < VERDICTS.size() ? VERDICTS.get(verdict) : Verdict.NOT_NOW,
        number(body),
        MessageCodec.node(body));
  }

  private static int number(ByteReader in) throws MalformedMessageException {
    return Math.clamp(in.varint(), 0, Integer.MAX_VALUE);
  }

  private static ByteReader read(FrameInput in) throws IOException, MalformedMessageException {
    if (!in.await(HEAD)) {
      throw new EOFException("the connection ended before its handshake");
    }
    int length = (in.bytes()[in.at() + 4] & 0xFF) << 8 | (in.bytes()[in.at() + 5] & 0xFF);
    if (in.fixed4(0) != MAGIC || length > MAX_LENGTH) {
      throw ByteReader.malformed("this is no handshake of an Evergreen node");
    }
    in.await(HEAD + length);
    // A copy, as reading on may overwrite the bytes.
    var body = Arrays.copyOfRange(in.bytes(), in.at() + HEAD, in.at() + HEAD + length);
    in.skip(HEAD + length);
    return new ByteReader().reset(body, 0, length);
  }

  /** The version that both speak; 0 if there is none. */
  static int common(Hello hello) {
    int version = Math.min(HIGHEST, hello.highest());
    return version < Math.max(LOWEST, hello.lowest()) ? 0 : version;
  }
}
