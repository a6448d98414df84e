package dev.evergreen.web;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The files of the dashboard's page, from the class path. */
final class DashboardPage {

  private static final String HTML = "text/html;charset=utf-8";

  private static final Map<String, String> FILES =
      Map.of(
          "dashboard.js", "text/javascript;charset=utf-8",
          "dashboard.css", "text/css;charset=utf-8",
          "icon.svg", "image/svg+xml");

  /** Nothing but what is listed: no inline script or style, and nothing from elsewhere. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
          + " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private final Authorisation<? super LiveView.NoParams> authorisation;
  private final Reply page;

  DashboardPage(String path, Authorisation<? super LiveView.NoParams> authorisation) {
    this.authorisation = authorisation;
    // Addresses relative to the page's: a proxy may have put something in front of it.
    var files = path.substring(path.lastIndexOf('/') + 1);
    var root = "../".repeat((int) path.chars().filter(c -> c == '/').count() - 1);
    var html =
        new String(read("index.html"), StandardCharsets.UTF_8)
            .replace("{files}", files)
            .replace("{live}", root + "live/" + Dashboard.VIEW);
    page = reply(HTML, html.getBytes(StandardCharsets.UTF_8));
  }

  Reply page(Request request) {
    check(request);
    return page;
  }

  Reply file(Request request) {
    check(request);
    var type = FILES.get(request.pathRest());
    if (type == null) {
      throw new WebException(404, "not-found", "The dashboard has no file of this name.");
    }
    return reply(type, read(request.pathRest()));
  }

  private void check(Request request) {
    Refusals.require(
        authorisation.allows(request.caller(), new LiveView.NoParams()), request.caller());
  }

  private static Reply reply(String type, byte[] body) {
    return Reply.bytes(type, body).withHeader("Content-Security-Policy", POLICY);
  }

  private static byte[] read(String name) {
    try (var in = DashboardPage.class.getResourceAsStream("dashboard/" + name)) {
      if (in == null) {
        throw new IllegalStateException("The resource dashboard/" + name + " is missing.");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException("The resource dashboard/" + name + " cannot be read.", e);
    }
  }
}
