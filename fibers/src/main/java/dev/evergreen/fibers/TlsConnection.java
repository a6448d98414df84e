package dev.evergreen.fibers;

import dev.evergreen.fibers.BufferQueue.Need;
import java.io.IOException;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Optional;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * A connection with TLS over another one.
 *
 * <p>Records are decrypted and encrypted in buffers on loan, straight into the reader's and out of
 * the writer's. What stays between two calls of the reader is in arrays of just its length: {@code
 * rest}, records that are not complete or for which there was no room; and {@code ready}, the end
 * of a record that the reader's buffer could not hold.
 *
 * <p>The engine's tasks compute (signatures, checks of certificates) and do not block, so the fiber
 * runs them itself: another virtual thread would run on the same processors. After each it lets
 * others run, so that many handshakes at a time do not hold up the requests of others.
 */
final class TlsConnection extends Connection {

  private static final ByteBuffer NOTHING_TO_SEND = ByteBuffer.allocateDirect(0);
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  /** The first byte of a record tells its type. In TLS 1.3 the encrypted ones hide theirs. */
  private static final byte ALERT = 21;

  private static final byte HANDSHAKE = 22;

  /** So many records are decrypted in a row: what is left of what has come is copied then. */
  static final int TURN = 128;

  private final Connection raw;
  private final SSLEngine engine;

  /** Of the reader. */
  private ByteBuffer rest = NOTHING;

  private ByteBuffer ready = NOTHING;
  private boolean established;

  /** Whether the engine can do nothing with the rest before more has come. */
  private boolean starved;

  TlsConnection(Connection raw, SSLEngine engine) {
    this.raw = raw;
    this.engine = engine;
  }

  @Override
  FibersBase fibers() {
    return raw.fibers();
  }

  @Override
  Connection wire() {
    return raw.wire();
  }

  @Override
  public void whenPeerEnds(@Nullable Runnable told) throws IOException {
    raw.whenPeerEnds(told);
  }

  void shakeHands(Duration limit) throws IOException {
    readDeadline(limit);
    writeTimeout(limit);
    try {
      engine.beginHandshake();
      while (doWhatEngineAsks() != HandshakeStatus.NOT_HANDSHAKING) {
        if (readLimit() - System.nanoTime() <= 0) {
          throw new SocketTimeoutException("could not shake hands in time");
        }
        if (starved) {
          awaitRecords();
        } else {
          letOthersRun();
        }
        receive(NOTHING);
      }
      if (engine.isInboundDone()) {
        throw new SSLException("the peer has given up to shake hands");
      }
    } catch (SSLException e) {
      tellWhy(e);
      throw e;
    }
    established = true;
    readDeadline(Duration.ofNanos(Nanos.FOREVER));
    writeTimeout(Duration.ofNanos(Nanos.FOREVER));
  }

  /** Goes on until the engine needs input, or nothing. */
  private HandshakeStatus doWhatEngineAsks() throws IOException {
    while (true) {
      var status = engine.getHandshakeStatus();
      switch (status) {
        case NEED_TASK -> runTasks();
        case NEED_WRAP -> transmit(NOTHING);
        default -> {
          return status;
        }
      }
    }
  }

  private void runTasks() {
    for (var task = engine.getDelegatedTask(); task != null; task = engine.getDelegatedTask()) {
      task.run();
      Fibers.letOthersRun();
    }
  }

  /** Sends the alert that the engine has prepared for an error, if that can still be done. */
  private void tellWhy(SSLException error) {
    try {
      transmit(NOTHING);
    } catch (IOException e) {
      error.addSuppressed(e);
    }
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    int n = tryRead(into);
    while (n == 0 && into.hasRemaining()) {
      awaitInput();
      n = tryRead(into);
    }
    return n;
  }

  @Override
  public int tryRead(ByteBuffer into) throws IOException {
    int before = into.position();
    if (ready.hasRemaining()) {
      takeReady(into);
    } else if (into.hasRemaining() && !engine.isInboundDone()) {
      try {
        receive(into);
        doWhatEngineAsks();
      } catch (SSLException e) {
        tellWhy(e);
        throw e;
      }
    }
    int n = into.position() - before;
    if (n == 0 && into.hasRemaining() && engine.isInboundDone()) {
      flushOwn();
      return -1;
    }
    return n;
  }

  private void takeReady(ByteBuffer into) {
    int n = Math.min(ready.remaining(), into.remaining());
    into.put(ready.slice(ready.position(), n));
    ready.position(ready.position() + n);
    if (!ready.hasRemaining()) {
      ready = NOTHING;
    }
  }

  @Override
  void awaitSome() throws IOException {
    if (starved && !ready.hasRemaining() && !engine.isInboundDone()) {
      flushBeforeWaiting();
      awaitRecords();
    } else {
      letOthersRun();
    }
  }

  /** What has come is not decrypted yet, and may bring nothing, as often as the peer likes. */
  private void letOthersRun() throws IOException {
    if (Fibers.othersWait()) {
      flushOwn();
      Fibers.letOthersRun();
    }
  }

  private void awaitRecords() throws IOException {
    long nanos = readLimited() ? readLimit() - System.nanoTime() : Nanos.FOREVER;
    raw.readDeadline(Duration.ofNanos(nanos));
    raw.awaitInput();
  }

  /** Decrypts what is there, without waiting for more. */
  private void receive(ByteBuffer into) throws IOException {
    try (var loan = Buffers.lend(this, Need.DECRYPT)) {
      var records = loan.buffer();
      boolean ended = raw.tryRead(records.put(rest)) < 0;
      boolean some = decrypt(records.flip(), into);
      rest = copyOf(records);
      if (ended && starved && !some && !engine.isInboundDone()) {
        throw new SSLException("the peer has gone without an end of TLS (close_notify)");
      }
    }
  }

  /** Decrypts some whole records, if there is room; says whether there was any for the reader. */
  private boolean decrypt(ByteBuffer records, ByteBuffer into) throws IOException {
    int before = into.position();
    int left = TURN;
    SSLEngineResult result;
    do {
      if (established && records.hasRemaining()) {
        prepareFor(records.get(records.position()));
      }
      result = engine.unwrap(records, into);
    } while (result.getStatus() == Status.OK
        && wantsMore(result.getHandshakeStatus())
        && records.hasRemaining()
        && --left > 0);
    if (result.getStatus() == Status.BUFFER_OVERFLOW && into.position() == before) {
      result = decryptAside(records, into);
    }
    // The engine may find that there is no room before it finds that the record is not complete.
    starved = result.getStatus() == Status.BUFFER_UNDERFLOW || !records.hasRemaining();
    return into.position() > before;
  }

  /** Whether the next record may be decrypted before anything else is done. */
  private boolean wantsMore(HandshakeStatus after) {
    return switch (after) {
      case NOT_HANDSHAKING, NEED_UNWRAP -> true;
      case FINISHED -> established; // That was a new key.
      default -> false;
    };
  }

  private void prepareFor(byte type) throws IOException {
    if (type == HANDSHAKE) {
      throw new SSLException("the peer wants to negotiate anew, which is refused");
    }
    if (type == ALERT) {
      // It may be the end, after which the engine for TLS 1.2 sends nothing more.
      flushOwn();
    }
  }

  private SSLEngineResult decryptAside(ByteBuffer records, ByteBuffer into) throws IOException {
    try (var loan = Buffers.lend(this, Need.END)) {
      var text = loan.buffer();
      var result = engine.unwrap(records, text);
      ready = copyOf(text.flip());
      takeReady(into);
      return result;
    }
  }

  private static ByteBuffer copyOf(ByteBuffer from) {
    return from.hasRemaining() ? ByteBuffer.allocate(from.remaining()).put(from).flip() : NOTHING;
  }

  /**
   * Sends what is in the buffer, and what the engine itself has to say. The reader may have to send
   * such things while another fiber writes, and records must leave in the order of their making.
   */
  @Override
  synchronized void transmit(ByteBuffer from) throws IOException {
    raw.writeTimeout(Duration.ofNanos(writeTimeoutNanos()));
    try (var loan = Buffers.lend(this, Need.END)) {
      var records = loan.buffer();
      while (encrypt(from, records) == Status.BUFFER_OVERFLOW) {
        raw.transmit(records.flip());
        records.clear();
      }
      raw.transmit(records.flip());
    }
  }

  /** A record must leave whole. */
  @Override
  void sendNow(ByteBuffer from) throws IOException {
    raw.sendNow(NOTHING_TO_SEND);
  }

  private Status encrypt(ByteBuffer from, ByteBuffer records) throws IOException {
    var status = Status.OK;
    while (status == Status.OK
        && (from.hasRemaining() || engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP)) {
      status = engine.wrap(from, records).getStatus();
    }
    if (status == Status.CLOSED && from.hasRemaining()) {
      throw new ClosedChannelException();
    }
    return status;
  }

  @Override
  public void shutdownOutput() throws IOException {
    flush();
    engine.closeOutbound();
    transmit(NOTHING);
    raw.shutdownOutput();
  }

  @Override
  public SocketAddress localAddress() throws IOException {
    return raw.localAddress();
  }

  @Override
  public SocketAddress peerAddress() throws IOException {
    return raw.peerAddress();
  }

  @Override
  public ConnectionReport report() {
    return raw.report();
  }

  @Override
  public Optional<TlsSession> tlsSession() {
    var session = engine.getSession();
    var certificates = new ArrayList<X509Certificate>();
    try {
      for (var certificate : session.getPeerCertificates()) {
        certificates.add((X509Certificate) certificate);
      }
    } catch (SSLPeerUnverifiedException e) {
      // It showed none.
    }
    return Optional.of(
        new TlsSession(
            session.getProtocol(),
            session.getCipherSuite(),
            Optional.ofNullable(engine.getApplicationProtocol()).filter(name -> !name.isEmpty()),
            requestedHost(session),
            certificates));
  }

  private static Optional<String> requestedHost(SSLSession session) {
    return session instanceof ExtendedSSLSession extended
        ? extended.getRequestedServerNames().stream()
            .filter(SNIHostName.class::isInstance)
            .map(name -> ((SNIHostName) name).getAsciiName())
            .findFirst()
        : Optional.empty();
  }

  @Override
  public void reset() {
    raw.reset();
    close();
  }

  @Override
  void closeSocket() {
    raw.close();
  }

  @Override
  public String toString() {
    return "TLS over " + raw;
  }
}
