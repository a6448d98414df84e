package dev.evergreen.web;

import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Tells a {@link WebTracing} of the work that another handler does, and for whom. */
final class TracedHandler extends Handler.Wrapper {

  private final WebTracing tracing;
  private final Edge edge;
  private final WebSettings settings;

  TracedHandler(Handler inner, WebTracing tracing, Edge edge, WebSettings settings) {
    super(inner);
    this.tracing = tracing;
    this.edge = edge;
    this.settings = settings;
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    edge.identify(request);
    var path = Request.getPathInContext(request);
    var span =
        tracing.begin(
            new Exchange(request, settings, path, "", Caller.ANONYMOUS), edge.route(request));
    int status = 500;
    try {
      boolean handled = super.handle(request, response, callback);
      status = handled ? response.getStatus() : 404;
      return handled;
    } finally {
      span.end(status);
    }
  }
}
