package dev.evergreen.proxy;

import dev.evergreen.fibers.BuffersExhaustedException;
import dev.evergreen.fibers.WaitCancelledException;
import dev.evergreen.http.ClientExchange;
import dev.evergreen.http.HeadTooLargeException;
import dev.evergreen.http.NoWebSocketException;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.http.UpstreamBusyException;
import dev.evergreen.http.Upstreams;
import dev.evergreen.proxy.rules.Forwarding;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.HashSet;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Asks the origins, and asks again where that is safe. Any thread may call. */
final class OriginClient {

  /** So often a request is tried in all. */
  private static final int ATTEMPTS = 3;

  private final Upstreams upstreams;
  private final Times times;

  OriginClient(Upstreams upstreams, Times times) {
    this.upstreams = upstreams;
    this.times = times;
  }

  /** Is told of informational responses. */
  interface Informed {
    void inform(ResponseHead head);
  }

  /**
   * Sends a request and receives the head of its answer.
   *
   * @param upload its body, or null if it has none; it is begun here
   * @param informed gets 1xx, but for 101, which is an answer
   * @throws OriginFailure if no origin answers
   * @throws WaitCancelledException if the caller's scope is cancelled; the origin is told
   * @throws IOException why the client's body did not come, if it is that
   */
  OriginAnswer ask(Origins origins, RequestHead request, @Nullable Upload upload, Informed informed)
      throws IOException {
    var tried = new HashSet<Origins.Member>();
    boolean fresh = false;
    for (int attempt = 1; ; attempt++) {
      var member = origins.choose(tried, times.now());
      var ask = new Attempt(member);
      try {
        return ask.run(request, upload, informed, fresh);
      } catch (WaitCancelledException | RuntimeException | Error e) {
        ask.giveUp(upload); // Else its place would be taken for ever.
        throw e; // That is no failure of the origin.
      } catch (IOException e) {
        ask.giveUp(upload);
        var ofClient = upload == null ? null : upload.failure();
        if (ofClient != null) {
          throw ofClient;
        }
        if (e instanceof OriginFailure
            || e instanceof HeadTooLargeException
            || e instanceof BuffersExhaustedException) {
          throw OriginFailure.of(e); // No origin could do better.
        }
        boolean again = attempt < ATTEMPTS && ask.mayBeRepeated(request, upload, e);
        if (e instanceof UpstreamBusyException) {
          // That is our limit, not its failure: another one may have room.
          tried.add(member);
          fresh = false;
          again &= !origins.allAreIn(tried);
        } else {
          // A kept connection may have ended while it was kept: that tells nothing of the origin.
          fresh = again && ask.reused();
          if (!fresh) {
            member.failed(times.now());
            tried.add(member);
          }
        }
        if (!again) {
          throw OriginFailure.of(e);
        }
      }
    }
  }

  /** One try. */
  private final class Attempt {
    private final Origins.Member member;
    private @Nullable ClientExchange exchange;

    /** Whether a new connection was wanted, whatever the first exchange was on. */
    private boolean onNew;

    Attempt(Origins.Member member) {
      this.member = member;
      member.underWay.incrementAndGet();
      member.requests.increment();
    }

    OriginAnswer run(RequestHead request, @Nullable Upload upload, Informed informed, boolean fresh)
        throws IOException {
      var opened = upstreams.open(member.origin, fresh);
      exchange = opened;
      long requested = times.now();
      try {
        send(opened, request, upload);
      } catch (NoWebSocketException e) {
        opened = openByHttp1(opened, e);
        exchange = opened;
        send(opened, request, upload);
      }
      var head = answer(opened, upload, informed);
      member.succeeded();
      long received = times.now();
      return new OriginAnswer(head, opened, member, received - requested, received, times.date());
    }

    private static ResponseHead answer(
        ClientExchange from, @Nullable Upload upload, Informed informed) throws IOException {
      var head = receive(from, upload);
      while (head.isInformational()) {
        if (upload != null && head.status() == 100) {
          upload.wanted();
        } else {
          informed.inform(head);
        }
        head = receive(from, upload);
      }
      if (upload != null) {
        upload.answered();
      }
      return head;
    }

    private void send(ClientExchange to, RequestHead request, @Nullable Upload upload)
        throws IOException {
      if (upload == null) {
        to.send(request);
      } else {
        upload.start(to.send(request, upload.length()), upstreams.slowPeers(member.origin));
      }
    }

    /**
     * Many origins take WebSockets by HTTP/1.1 only. That others do not, and then have no protocol
     * in common with us, is no failure of theirs. Other failures of TLS are.
     */
    private ClientExchange openByHttp1(ClientExchange byHttp2, NoWebSocketException why)
        throws IOException {
      if (!upstreams.mayAskByHttp1(member.origin)) {
        throw OriginFailure.of(why);
      }
      byHttp2.close();
      onNew = true;
      try {
        return upstreams.openByHttp1(member.origin);
      } catch (SSLException e) {
        if (!refusesProtocols(e)) {
          throw e;
        }
        why.addSuppressed(e);
        throw OriginFailure.of(why);
      }
    }

    /** RFC 7301 §3.2. The JDK has no other word for it than the name of the alert. */
    private static boolean refusesProtocols(SSLException e) {
      return String.valueOf(e.getMessage()).contains("no_application_protocol");
    }

    /**
     * An origin need not answer as long as it is still being sent the body, however long that
     * takes, as long as the body goes on.
     */
    private static ResponseHead receive(ClientExchange from, @Nullable Upload upload)
        throws IOException {
      while (true) {
        try {
          return from.receive();
        } catch (SocketTimeoutException e) {
          if (upload == null || from.amidHead() || !upload.hasGoneOn()) {
            throw e;
          }
        }
      }
    }

    /**
     * RFC 9110 §9.2.2: if it never arrived, or changes nothing and was not answered; and if all of
     * it is still there. Who took too long is not asked again, as the client has waited for as long
     * as it should.
     */
    boolean mayBeRepeated(RequestHead request, @Nullable Upload upload, IOException why) {
      var present = exchange;
      if (present == null) {
        return true;
      }
      if (why instanceof SocketTimeoutException || (upload != null && !upload.isKept())) {
        return false;
      }
      return !present.anySent()
          || (Forwarding.idempotent(request.method()) && !present.anyReceived());
    }

    boolean reused() {
      return !onNew && exchange != null && exchange.reused();
    }

    void giveUp(@Nullable Upload upload) {
      member.underWay.decrementAndGet();
      var present = exchange;
      if (present != null) {
        present.abort();
        if (upload != null) {
          upload.stop();
        }
        present.close();
      }
    }
  }
}
