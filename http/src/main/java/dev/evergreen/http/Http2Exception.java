package dev.evergreen.http;

import java.io.IOException;

/** The peer has broken a rule of HTTP/2: by one stream, or such that the connection must end. */
final class Http2Exception extends IOException {
  private static final long serialVersionUID = 1;

  /** Those codes of errors of RFC 9113 §7 that are told. */
  enum Code {
    NO_ERROR(0),
    PROTOCOL_ERROR(1),
    INTERNAL_ERROR(2),
    FLOW_CONTROL_ERROR(3),
    STREAM_CLOSED(5),
    FRAME_SIZE_ERROR(6),
    REFUSED_STREAM(7),
    CANCEL(8),
    COMPRESSION_ERROR(9),
    ENHANCE_YOUR_CALM(11);

    final int number;

    Code(int number) {
      this.number = number;
    }
  }

  private final Code code;
  private final int stream;

  private Http2Exception(Code code, int stream, String what) {
    super(what);
    this.code = code;
    this.stream = stream;
  }

  /** An error of the whole connection. */
  static Http2Exception ofConnection(Code code, String what) {
    return new Http2Exception(code, 0, what);
  }

  /** An error of one stream; of the connection if that is 0. */
  static Http2Exception ofStream(int stream, Code code, String what) {
    return new Http2Exception(code, stream, what);
  }

  Code code() {
    return code;
  }

  /** Which stream it is an error of; 0 for the connection. */
  int stream() {
    return stream;
  }
}
