package dev.evergreen.web;

import java.util.List;
import java.util.stream.Stream;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.ResourceHandler;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.URIUtil;
import org.eclipse.jetty.util.resource.Resource;
import org.eclipse.jetty.util.resource.ResourceFactory;

/** Static files below one path. */
final class Files extends Handler.Wrapper {

  private static final String HASHED = "assets/";

  /** RFC 8615 */
  private static final String WELL_KNOWN = ".well-known";

  private static final String START_PAGE = "index.html";

  private final String prefix;
  private final Resource base;
  private final boolean singlePage;

  Files(String prefix, Resource base, boolean singlePage) {
    this.prefix = prefix;
    this.base = base.isAlias() ? ResourceFactory.root().newResource(base.getRealURI()) : base;
    this.singlePage = singlePage;
    var files = new ResourceHandler();
    files.setBaseResource(this.base);
    files.setDirAllowed(false);
    files.setEtags(true);
    files.setWelcomeFiles(List.of(START_PAGE));
    setHandler(files);
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    var path = Request.getPathInContext(request);
    if (!path.startsWith(prefix)) {
      return false;
    }
    var below = path.substring(prefix.length());
    if (isHidden(below)) {
      return false;
    }
    response
        .getHeaders()
        .put(
            HttpHeader.CACHE_CONTROL,
            below.startsWith(HASHED) ? "public, max-age=31536000, immutable" : "no-cache");
    if (serve(below, request, response, callback)) {
      return true;
    }
    response.getHeaders().put(HttpHeader.CACHE_CONTROL, "no-cache");
    return singlePage && isPage(request, below) && serve(START_PAGE, request, response, callback);
  }

  /** What leads elsewhere is not there, and neither is a folder whose start page does. */
  private boolean serve(String below, Request request, Response response, Callback callback)
      throws Exception {
    boolean isFolder = below.isEmpty() || below.endsWith("/");
    return !leadsElsewhere(below)
        && !(isFolder && leadsElsewhere(below + START_PAGE))
        && super.handle(at(request, "/" + below), response, callback);
  }

  /** What a folder holds beside what it is for, such as {@code .env} and {@code .git}. */
  private static boolean isHidden(String below) {
    return Stream.of(below.split("/", -1))
        .anyMatch(part -> part.startsWith(".") && !part.equals(WELL_KNOWN));
  }

  /** A symbolic link, or another spelling of a name than the file system's own. */
  private boolean leadsElsewhere(String below) {
    var file = below.isEmpty() ? base : base.resolve(URIUtil.encodePath(below));
    return file != null && file.exists() && file.isAlias();
  }

  /** Pages are asked for with text/html, and their last part has no extension. */
  private static boolean isPage(Request request, String path) {
    var accept = request.getHeaders().get(HttpHeader.ACCEPT);
    return HttpMethod.GET.is(request.getMethod())
        && accept != null
        && accept.contains("text/html")
        && !path.substring(path.lastIndexOf('/') + 1).contains(".");
  }

  private static Request at(Request request, String path) {
    return Request.serveAs(
        request, HttpURI.build(request.getHttpURI()).pathQuery(path).asImmutable());
  }
}
