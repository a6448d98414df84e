package dev.evergreen.web;

import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.io.content.ContentSourceCompletableFuture;
import org.eclipse.jetty.util.Fields;
import org.jspecify.annotations.Nullable;

/** A request of the server below as applications see it. */
final class Exchange implements Request {

  /** The attribute of a request that a proxy sent: for whom. */
  static final String CLIENT = Exchange.class.getName() + ".client";

  private final org.eclipse.jetty.server.Request request;
  private final WebSettings settings;
  private final String path;
  private final String pathRest;
  private final Supplier<Caller> authenticate;
  private final Places.@Nullable Place place;
  private final Paying paying;
  private Caller caller;
  private @Nullable Fields query;

  /** Has work paid for; answers in how many nanoseconds it is due. */
  interface Paying {
    long pay(List<?> payers, int work);
  }

  /** One that has no place among what is worked on. */
  Exchange(
      org.eclipse.jetty.server.Request request,
      WebSettings settings,
      String path,
      String pathRest,
      Caller caller) {
    this(request, settings, path, pathRest, () -> caller, null, (_, _) -> 0);
  }

  /**
   * One that has a place, which it leaves while it waits for its body, or for a result.
   *
   * @param authenticate says who asks; asked again when the body had to be waited for
   * @param paying for what is read of it
   */
  Exchange(
      org.eclipse.jetty.server.Request request,
      WebSettings settings,
      String path,
      String pathRest,
      Supplier<Caller> authenticate,
      Places.@Nullable Place place,
      Paying paying) {
    this.request = request;
    this.settings = settings;
    this.path = path;
    this.pathRest = pathRest;
    this.authenticate = authenticate;
    this.caller = authenticate.get();
    this.place = place;
    this.paying = paying;
  }

  /** Whose share pays for what has to be made for this request. */
  Object payer() {
    return Peer.of(request).address;
  }

  @Override
  public String method() {
    return request.getMethod().toUpperCase(Locale.ROOT);
  }

  @Override
  public String path() {
    return path;
  }

  @Override
  public String pathRest() {
    return pathRest;
  }

  @Override
  public Optional<String> query(String name) {
    return Optional.ofNullable(fields().getValue(name));
  }

  /** All that the query says. */
  Map<String, List<String>> query() {
    var all = new HashMap<String, List<String>>();
    fields().forEach(field -> all.put(field.getName(), field.getValues()));
    return all;
  }

  private Fields fields() {
    if (query == null) {
      try {
        query = org.eclipse.jetty.server.Request.extractQueryParameters(request);
      } catch (RuntimeException e) {
        throw new WebException(400, "malformed", "The query of the address cannot be decoded.");
      }
    }
    return query;
  }

  @Override
  public Optional<String> header(String name) {
    return Optional.ofNullable(request.getHeaders().get(name));
  }

  @Override
  public Optional<String> cookie(String name) {
    return org.eclipse.jetty.server.Request.getCookies(request).stream()
        .filter(cookie -> cookie.getName().equals(name))
        .map(cookie -> cookie.getValue())
        .findFirst();
  }

  static String remoteAddress(org.eclipse.jetty.server.Request request) {
    return request.getAttribute(CLIENT) instanceof String client
        ? client
        : org.eclipse.jetty.server.Request.getRemoteAddr(request);
  }

  @Override
  public String remoteAddress() {
    return remoteAddress(request);
  }

  @Override
  public Caller caller() {
    return caller;
  }

  /**
   * Waits without the place, if it has one, and then for a place.
   *
   * @throws WebException 503 if there is none for too long
   */
  void leaveFor(Places.Waiting waiting) throws InterruptedException {
    if (place == null) {
      waiting.await();
    } else {
      place.leaveFor(waiting);
    }
  }

  /** Finds out anew who asks, as is due when something had to be waited for. */
  Caller callerByNow() {
    caller = authenticate.get();
    return caller;
  }

  @Override
  public <T> T body(Class<T> type) {
    var contentType = header(HttpHeader.CONTENT_TYPE.asString()).orElse("");
    var plain = contentType.split(";", 2)[0].strip();
    if (!plain.equalsIgnoreCase("application/json")) {
      throw new WebException(
          415, "not-json", "The content type must be application/json, not '" + plain + "'.");
    }
    var bytes = bytes(settings.maxMessageBytes());
    payFor(bytes.length);
    return Json.decode(Json.tree(bytes), type);
  }

  /**
   * Before it is decoded and acted on, which is most of the work. In pieces, so that what else is
   * asked for from the same address has its turn meanwhile.
   */
  private void payFor(int bytes) {
    var own = place;
    if (own == null) {
      return;
    }
    var payers = caller.payers(payer());
    boolean rested = false;
    for (int left = bytes / Hub.BODY_BYTES_OF_WORK; left > 0; left -= Hub.MOST_WORK_AT_A_TIME) {
      long pause = paying.pay(payers, Math.min(left, Hub.MOST_WORK_AT_A_TIME));
      rest(own, pause);
      rested |= pause > 0;
    }
    if (rested) {
      callerByNow();
    }
  }

  private static void rest(Places.Place place, long nanos) {
    try {
      place.rest(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Failures.stopped();
    }
  }

  /** Reads the body to its end, within the limits of size and time. */
  private byte[] bytes(int most) {
    if (request.getLength() > most) {
      throw tooLarge(most);
    }
    var body = new Body(request, most);
    body.parse();
    boolean waits = !body.isDone();
    try {
      if (waits) {
        leaveFor(() -> await(body, patience()));
        callerByNow();
      }
      return body.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof WebException refused
          ? refused
          : new WebException(400, "malformed", "The request's body ended early.");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Failures.stopped();
    }
  }

  /**
   * Some have more of it than others, so that those who came together, and are refused or come
   * again then, do not all do so at once.
   */
  private Duration patience() {
    long least = settings.requestWithin().toNanos();
    return Duration.ofNanos(least + ThreadLocalRandom.current().nextLong(1 + least / 4));
  }

  private static void await(Body body, Duration limit) throws InterruptedException {
    try {
      body.get(limit.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      // It has ended early, or is too large: told when it is taken.
    } catch (TimeoutException e) {
      throw new WebException(408, "slow-request", "The request's body did not arrive in time.");
    }
  }

  /**
   * A body, gathered by who learns that a part of it has come: so those who send theirs byte by
   * byte wake nobody. What holds a part is given back at once.
   */
  private static final class Body extends ContentSourceCompletableFuture<byte[]> {
    private final ByteArrayOutputStream bytes;
    private final int most;

    Body(org.eclipse.jetty.server.Request request, int most) {
      super(request);
      this.bytes = new ByteArrayOutputStream(Math.max(64, (int) request.getLength()));
      this.most = most;
    }

    @Override
    protected byte @Nullable [] parse(Content.Chunk chunk) {
      if (chunk.remaining() > most - bytes.size()) {
        throw tooLarge(most);
      }
      var part = new byte[chunk.remaining()];
      chunk.getByteBuffer().get(part);
      bytes.writeBytes(part);
      return chunk.isLast() ? bytes.toByteArray() : null;
    }
  }

  private static WebException tooLarge(int most) {
    return new WebException(413, "too-large", "A body is at most " + most + " bytes long.");
  }
}
