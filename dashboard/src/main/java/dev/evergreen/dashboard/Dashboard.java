package dev.evergreen.dashboard;

import dev.evergreen.pages.PageFiles;
import dev.evergreen.reports.NodeReport;
import dev.evergreen.web.Authorisation;
import dev.evergreen.web.LiveView;
import dev.evergreen.web.LiveView.NoParams;
import dev.evergreen.web.Reply;
import dev.evergreen.web.Request;
import dev.evergreen.web.WebException;
import dev.evergreen.web.WebServer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A page that shows what the nodes do, live: calls, latencies, active grains, the computations that
 * run most, pushes. It shows keys of grains and arguments of operations; page and data are guarded
 * as views are. A server has it by {@link WebServer.Builder#add}.
 */
public final class Dashboard implements Consumer<WebServer.Builder> {

  static final String VIEW = "evergreen.dashboard";

  private static final Duration EVERY = Duration.ofSeconds(1);
  private static final String PAGE = "index.html";

  private final String path;
  private final Authorisation<? super NoParams> authorisation;
  private final Supplier<List<NodeReport>> nodes;
  private final PageFiles files =
      PageFiles.of(Dashboard.class, PAGE, "dashboard.css", "dashboard.js");

  private Dashboard(
      String path,
      Authorisation<? super NoParams> authorisation,
      Supplier<List<NodeReport>> nodes) {
    this.path = path;
    this.authorisation = authorisation;
    this.nodes = nodes;
  }

  /**
   * The dashboard of some nodes.
   *
   * @param path where the page appears, such as {@code "/dashboard"}
   * @param authorisation who may see it
   * @param nodes the reports of the nodes that can be reached, such as {@code () ->
   *     List.of(NodeReport.of(node))}. Asked once a second while anybody looks, on a virtual
   *     thread; may block for about as long. A node that is missing, or whose report is not newer
   *     than the last, is shown as silent.
   */
  public static Dashboard at(
      String path,
      Authorisation<? super NoParams> authorisation,
      Supplier<List<NodeReport>> nodes) {
    return new Dashboard(path, authorisation, nodes);
  }

  @Override
  public void accept(WebServer.Builder server) {
    var overview = new Overview(nodes, System::nanoTime);
    server
        .view(LiveView.polled(VIEW, authorisation, EVERY, overview::look))
        .route("GET", path, authorisation, request -> page())
        .route("GET", path + "/*", authorisation, this::file);
  }

  /** With addresses relative to the page's: a proxy may have put something in front of it. */
  private Reply page() {
    var root = "../".repeat((int) path.chars().filter(c -> c == '/').count() - 1);
    var page = files.find(PAGE).orElseThrow();
    var html =
        page.text()
            .replace("{files}", path.substring(path.lastIndexOf('/') + 1))
            .replace("{live}", root + "live/" + VIEW);
    return reply(page.contentType(), html);
  }

  private Reply file(Request request) {
    return files
        .find(request.pathRest())
        .filter(file -> !request.pathRest().equals(PAGE))
        .map(file -> reply(file.contentType(), file.text()))
        .orElseThrow(
            () -> new WebException(404, "not-found", "The dashboard has no file of this name."));
  }

  private static Reply reply(String contentType, String text) {
    return Reply.bytes(contentType, text.getBytes(StandardCharsets.UTF_8))
        .withHeader("Content-Security-Policy", PageFiles.CONTENT_SECURITY_POLICY);
  }
}
