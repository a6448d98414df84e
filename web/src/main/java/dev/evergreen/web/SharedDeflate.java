package dev.evergreen.web;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import org.eclipse.jetty.websocket.core.AbstractExtension;
import org.eclipse.jetty.websocket.core.ExtensionConfig;
import org.jspecify.annotations.Nullable;

/**
 * Compressed messages of WebSockets (permessage-deflate, RFC 7692), without context takeover in
 * either direction. So each message stands for itself: a result is compressed once for all who
 * watch it, and a connection keeps no state for it, where Jetty's own extension keeps some hundred
 * kilobytes.
 *
 * <p>A message is one DEFLATE stream. Its head, which is the client's own, is a stored block. That
 * ends at a whole byte, so that the compressed result, which is everybody's, can follow as it is.
 */
final class SharedDeflate {

  static final String NAME = "permessage-deflate";

  private static final String SERVER_FORGETS = "server_no_context_takeover";
  private static final String CLIENT_FORGETS = "client_no_context_takeover";
  private static final String SERVER_WINDOW = "server_max_window_bits";
  private static final String CLIENT_WINDOW = "client_max_window_bits";

  /** An empty stored block, which a sender leaves out and a receiver puts back (§7.2.1). */
  private static final byte[] END = {0, 0, (byte) 0xFF, (byte) 0xFF};

  private static final int BLOCK_HEADER = 5;
  private static final int LONGEST_BLOCK = 0xFFFF;
  private static final int CHUNK = 8192;

  /** Tells Jetty that the bit that marks compressed messages is in use; who uses it is not here. */
  public static final class Permit extends AbstractExtension {

    /** Made by Jetty. */
    public Permit() {}

    @Override
    public String getName() {
      return NAME;
    }

    @Override
    public boolean isRsv1User() {
      return true;
    }
  }

  private SharedDeflate() {}

  /**
   * What to answer to a client's offers: the first that can be met. One that demands a small window
   * cannot, since the JDK's deflater has one size.
   */
  static List<ExtensionConfig> accept(List<ExtensionConfig> offers) {
    for (var offer : offers) {
      if (offer.getName().equals(NAME) && canBeMet(offer.getParameters())) {
        var answer = new ExtensionConfig(NAME);
        answer.setParameter(SERVER_FORGETS);
        answer.setParameter(CLIENT_FORGETS);
        if (offer.getParameters().containsKey(SERVER_WINDOW)) {
          answer.setParameter(SERVER_WINDOW, "15"); // Who demands it wants to read it (§7.1.2.1).
        }
        return List.of(answer);
      }
    }
    return List.of();
  }

  private static boolean canBeMet(Map<String, String> parameters) {
    return parameters.entrySet().stream()
        .allMatch(
            parameter ->
                switch (parameter.getKey()) {
                  case SERVER_FORGETS, CLIENT_FORGETS -> parameter.getValue() == null;
                  case SERVER_WINDOW -> "15".equals(parameter.getValue());
                  case CLIENT_WINDOW ->
                      parameter.getValue() == null || parameter.getValue().matches("[89]|1[0-5]");
                  default -> false;
                });
  }

  /** The head of a message as a block that is not compressed, up to 65,535 bytes. */
  static ByteBuffer stored(ByteBuffer head) {
    int length = head.remaining();
    if (length > LONGEST_BLOCK) {
      throw new IllegalArgumentException("A head of " + length + " bytes");
    }
    var block = ByteBuffer.allocate(BLOCK_HEADER + length);
    block.put((byte) 0);
    block.put((byte) length).put((byte) (length >> 8));
    block.put((byte) ~length).put((byte) (~length >> 8));
    return block.put(head.duplicate()).flip();
  }

  /** What ends a message, compressed; null if that does not make it at least half as long. */
  static byte @Nullable [] deflate(ByteBuffer tail) {
    int most = tail.remaining() / 2;
    try (var deflater = new Deflater(Deflater.DEFAULT_COMPRESSION, true)) {
      deflater.setInput(tail.duplicate());
      var out = new byte[most + END.length];
      int length = deflater.deflate(out, 0, out.length, Deflater.SYNC_FLUSH);
      // A full buffer may not be all of it.
      return length == out.length ? null : Arrays.copyOf(out, length - END.length);
    }
  }

  /**
   * A client's message.
   *
   * @return null if it is longer than {@code most} bytes
   * @throws DataFormatException if it is none
   */
  static byte @Nullable [] inflate(byte[] message, int most) throws DataFormatException {
    var out = new ByteArrayOutputStream();
    var chunk = new byte[Math.min(CHUNK, most + 1)];
    try (var inflater = new Inflater(true)) {
      for (var input : List.of(message, END)) {
        inflater.setInput(input);
        for (int length; (length = inflater.inflate(chunk)) > 0; ) {
          out.write(chunk, 0, length);
          if (out.size() > most) {
            return null;
          }
        }
        // A stream may say that it ends, and a byte of zeros is behind it then (§7.2.3.4).
        if (inflater.finished() && inflater.getRemaining() > END.length) {
          throw new DataFormatException("There is more than one stream.");
        }
      }
    }
    return out.toByteArray();
  }
}
