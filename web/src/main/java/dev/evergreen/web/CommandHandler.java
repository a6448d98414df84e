package dev.evergreen.web;

/**
 * Carries out a command that came as {@code POST /commands/<name>} with a JSON body.
 *
 * @param <C> the command: a record, decoded as strictly as a view's parameters
 */
@FunctionalInterface
public interface CommandHandler<C> {

  /**
   * Runs on a virtual thread and may block. Answered with status 204.
   *
   * @throws WebException to answer with that status and message
   * @throws Exception anything else is answered as the server's error mapping says
   */
  void handle(Caller caller, C command) throws Exception;

  /**
   * A command with an answer.
   *
   * @param <C> the command
   */
  @FunctionalInterface
  interface WithResult<C> {

    /**
     * As {@link CommandHandler#handle}.
     *
     * @return the answer: a {@link Reply} as it is, anything else as JSON with status 200
     */
    Object handle(Caller caller, C command) throws Exception;
  }
}
