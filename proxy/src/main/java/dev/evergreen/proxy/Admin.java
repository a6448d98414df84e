package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.evergreen.http.BodyWriter;
import dev.evergreen.http.Exchange;
import dev.evergreen.http.Fields;
import dev.evergreen.http.HttpDate;
import dev.evergreen.http.RequestHead;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.pages.PageFiles;
import dev.evergreen.proxy.rules.CacheKey;
import dev.evergreen.proxy.storage.Purge;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What operators ask and order, by HTTP at a port of its own: a page, statistics, metrics, the last
 * transactions and how they went, and purges. It answers only who is on this machine; a page of
 * another site in a browser there is nobody (its Host or its Origin is another), nor is who asks
 * through a proxy on this machine, be it this one.
 */
final class Admin {

  private static final int QUEUE = 4096;

  private static final List<String> ORDER = List.of("POST");

  /** RFC 9110 §9.1: who answers GET answers HEAD, too. Exchanges leave the body out. */
  private static final List<String> QUESTION = List.of("GET", "HEAD");

  /** By what proxies say that somebody else asks; our own says the first always. */
  private static final List<String> RELAYED = List.of("via", "forwarded", "x-forwarded-for");

  private static final PageFiles FILES =
      PageFiles.of(Admin.class, "index.html", "admin.css", "admin.js");

  private final Proxy proxy;
  private final Report report;

  Admin(Proxy proxy) {
    this.proxy = proxy;
    report = new Report(proxy);
  }

  void handle(Exchange exchange) throws IOException {
    var request = exchange.request();
    if (!isLocal(exchange)) {
      respond(exchange, 403, "text/plain", "only for this machine\n");
      return;
    }
    var path = request.path();
    int query = path.indexOf('?');
    var name = query < 0 ? path : path.substring(0, query);
    var parameters = parameters(query < 0 ? "" : path.substring(query + 1));
    var methods = name.equals("/purge") ? ORDER : QUESTION;
    if (!methods.contains(request.method())) {
      var allowed = String.join(", ", methods);
      var head = head(405, "text/plain");
      head.fields().set("Allow", allowed); // RFC 9110 §15.5.6
      exchange.respond(head, ByteBuffer.wrap(("only " + allowed + "\n").getBytes(UTF_8)));
      return;
    }
    switch (name) {
      case "/stats" -> respond(exchange, 200, "application/json", report.json() + "\n");
      case "/metrics" -> respond(exchange, 200, Report.METRICS_TYPE, report.metrics());
      case "/log" -> log(exchange, parameters);
      case "/purge" -> purge(exchange, parameters);
      default -> page(exchange, name.equals("/") ? "index.html" : name.substring(1));
    }
  }

  private void page(Exchange exchange, String name) throws IOException {
    var file = FILES.find(name).orElse(null);
    if (file == null) {
      respond(exchange, 404, "text/plain", "nothing here\n");
      return;
    }
    var head = head(200, file.contentType());
    head.fields().set("Content-Security-Policy", PageFiles.CONTENT_SECURITY_POLICY);
    exchange.respond(head, ByteBuffer.wrap(file.text().getBytes(UTF_8)));
  }

  private static boolean isLocal(Exchange exchange) throws IOException {
    var peer = ((InetSocketAddress) exchange.connection().peerAddress()).getAddress();
    var request = exchange.request();
    return peer.isLoopbackAddress()
        && Orders.nameThisMachine(request)
        && Orders.areOfSameSite(request, "http")
        && isDirect(request);
  }

  private static boolean isDirect(RequestHead request) {
    return RELAYED.stream().noneMatch(request.fields()::has);
  }

  /** Each character is a byte, as in the fields and the URIs that they are compared with. */
  private static Map<String, String> parameters(String query) {
    var all = new HashMap<String, String>();
    for (var each : query.split("&", -1)) {
      int equals = each.indexOf('=');
      var name = equals < 0 ? each : each.substring(0, equals);
      if (!name.isEmpty()) {
        all.put(name, equals < 0 ? "" : URLDecoder.decode(each.substring(equals + 1), ISO_8859_1));
      }
    }
    return all;
  }

  private void respond(Exchange exchange, int status, String type, String text) throws IOException {
    exchange.respond(head(status, type), ByteBuffer.wrap(text.getBytes(UTF_8)));
  }

  private ResponseHead head(int status, String type) {
    return ResponseHead.of(
        status,
        Fields.of(
            "Content-Type",
            type,
            "Date", // RFC 9110 §6.6.1
            HttpDate.format(proxy.date()),
            "Cache-Control",
            "no-store",
            "X-Content-Type-Options",
            "nosniff"));
  }

  private void purge(Exchange exchange, Map<String, String> parameters) throws IOException {
    var wrong = purge(parameters);
    respond(
        exchange,
        wrong == null ? 200 : 400,
        "text/plain",
        (wrong == null ? "purged" : wrong) + "\n");
  }

  /** Purges; or says why nothing can be meant, as what is confirmed must be gone. */
  private @Nullable String purge(Map<String, String> parameters) throws IOException {
    boolean soft = parameters.containsKey("soft");
    var words = parameters.keySet().stream().filter(word -> !word.equals("soft")).toList();
    var word = words.size() == 1 ? words.getFirst() : "";
    var name = parameters.getOrDefault(word, "");
    switch (word) {
      case "uri" -> {
        var uri = CacheKey.ofUri(name);
        if (uri.isEmpty()) {
          return "a URI is whole, such as http://example.com/page, without a #";
        }
        proxy.purge(List.of(uri.get()), key -> by(Purge.uri(key), soft));
      }
      case "prefix" -> {
        var prefixes = CacheKey.ofPrefix(name);
        if (prefixes.isEmpty()) {
          return "a prefix begins like a whole URI, such as http://example.com/shop/";
        }
        proxy.purge(prefixes, key -> by(Purge.prefix(key), soft));
      }
      case "tag" -> {
        if (!Tags.isTag(name)) {
          return "a tag has no blanks and no commas";
        }
        proxy.purge(by(Purge.tag(Tags.tag(name)), soft));
      }
      default -> {
        return "say what, and only that: uri=, tag= or prefix=; in it %26 stands for &";
      }
    }
    return null;
  }

  private static Purge by(Purge purge, boolean soft) {
    return soft ? purge.softly() : purge;
  }

  /** The last transactions, and with "follow" those that come. */
  private void log(Exchange exchange, Map<String, String> parameters) throws IOException {
    var head = head(200, "application/jsonl");
    if (exchange.request().is("HEAD")) {
      exchange.respondByHeadAlone(head); // Nothing of it is sent, so nothing is followed.
      return;
    }
    boolean course = parameters.containsKey("course");
    var writer = exchange.respond(head);
    var queue = new ArrayBlockingQueue<Course>(QUEUE);
    // Who reads too slowly misses some.
    Consumer<Course> watcher = queue::offer;
    proxy.log().watch(watcher);
    try {
      for (var each : proxy.log().last()) {
        write(writer, each, course);
      }
      writer.flush();
      while (parameters.containsKey("follow")) {
        var next = queue.poll(1, TimeUnit.SECONDS);
        if (next == null) {
          // So that it is noticed if nobody reads any more.
          writer.write(new byte[] {'\n'});
        } else {
          write(writer, next, course);
        }
        writer.flush();
      }
      writer.end();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      proxy.log().unwatch(watcher);
    }
  }

  private static void write(BodyWriter writer, Course course, boolean withSteps)
      throws IOException {
    var line = LogFormat.JSON.line(course);
    if (withSteps) {
      var steps = course.steps().stream().map(Admin::step).toList();
      line = line.substring(0, line.length() - 1) + ",\"course\":" + Json.of(steps) + "}";
    }
    writer.write((line + "\n").getBytes(UTF_8));
  }

  private static Map<String, Object> step(Course.Step step) {
    var all = new LinkedHashMap<String, Object>();
    all.put("micros", step.micros());
    all.put("point", step.point().name());
    all.put("detail", step.detail());
    return all;
  }
}
