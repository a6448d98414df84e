package dev.evergreen.fibers;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** What one call of a {@link Dialer} has tried, for the message of its exception. */
final class Trials {
  private final String target;
  private final Map<SocketAddress, Optional<IOException>> tried = new LinkedHashMap<>();

  Trials(String target) {
    this.target = target;
  }

  void begin(SocketAddress address) {
    tried.put(address, Optional.empty());
  }

  void failed(SocketAddress address, IOException why) {
    tried.put(address, Optional.of(why));
  }

  IOException allFailed() {
    return withReasons(new ConnectException("could not connect to " + target + ": " + list()));
  }

  IOException tooLate(Duration limit) {
    var tries = tried.isEmpty() ? "its name was still being looked up" : list();
    return withReasons(
        new SocketTimeoutException(
            "could not connect to " + target + " within " + limit + ": " + tries));
  }

  private String list() {
    return tried.entrySet().stream()
        .map(
            trial ->
                trial.getKey()
                    + " ("
                    + trial.getValue().map(Throwable::getMessage).orElse("no answer yet")
                    + ")")
        .collect(Collectors.joining(", "));
  }

  private IOException withReasons(IOException thrown) {
    for (var reason : tried.values()) {
      reason.ifPresent(thrown::addSuppressed);
    }
    return thrown;
  }
}
