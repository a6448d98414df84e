package dev.evergreen.web;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Consumer;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.RequestLog;
import org.eclipse.jetty.server.Response;

/** Hands the application what the server below has to say of a request that was answered. */
final class AnsweredRequests implements RequestLog {

  private final Consumer<? super AnsweredRequest> log;
  private final Edge edge;

  AnsweredRequests(Consumer<? super AnsweredRequest> log, Edge edge) {
    this.log = log;
    this.edge = edge;
  }

  @Override
  public void log(Request request, Response response) {
    log.accept(
        new AnsweredRequest(
            Instant.ofEpochMilli(Request.getTimeStamp(request)),
            Duration.ofNanos(System.nanoTime() - request.getBeginNanoTime()),
            Exchange.remoteAddress(request),
            request.getAttribute(Edge.CALLER) instanceof Caller caller && caller.signedIn()
                ? Optional.of(caller.name())
                : Optional.empty(),
            request.getMethod(),
            String.valueOf(request.getHttpURI().getPath()),
            edge.route(request),
            response.getStatus(),
            Response.getContentBytesWritten(response)));
  }
}
