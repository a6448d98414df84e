package dev.evergreen.web;

/** Answers requests of one path that are neither views nor commands. */
@FunctionalInterface
public interface RouteHandler {

  /**
   * Runs on a virtual thread and may block.
   *
   * @throws WebException to answer with that status and message
   * @throws Exception anything else is answered as the server's error mapping says
   */
  Reply handle(Request request) throws Exception;
}
