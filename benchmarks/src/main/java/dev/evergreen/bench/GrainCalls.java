package dev.evergreen.bench;

import dev.evergreen.core.Grains;

/** Calls of grains on other nodes, one grain for each caller. */
final class GrainCalls implements CallPath {

  private final Grains grains;

  /**
   * @param grains of a node that hosts none itself
   */
  GrainCalls(Grains grains) {
    this.grains = grains;
  }

  @Override
  public String name() {
    return "grain call";
  }

  @Override
  public Runnable caller(int index) {
    var grain = grains.get(RemoteEcho.class, "echo" + index);
    byte[] request = new byte[RemoteEcho.REQUEST];
    return () -> {
      if (grain.echo(request).length != RemoteEcho.ANSWER) {
        throw new IllegalStateException("another answer was expected");
      }
    };
  }

  @Override
  public void close() {}
}
