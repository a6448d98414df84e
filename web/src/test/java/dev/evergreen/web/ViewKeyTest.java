package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.evergreen.live.HandNode;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Who gets the result of whose computation. */
final class ViewKeyTest {

  private static final Map<String, Caller> CALLERS =
      Map.of(
          "admin", new Caller("ada", Set.of("admin")),
          "guest", new Caller("ada", Set.of("guest")),
          "both", new Caller("ada", Set.of("guest", "admin")));

  record Document(
      String name, @JsonProperty(access = JsonProperty.Access.WRITE_ONLY) String token) {}

  record Loose(@JsonIgnore Object anything) {}

  private static WebServer serve() {
    return WebServer.builder(new HandNode())
        .port(0)
        .authenticator(
            request -> CALLERS.getOrDefault(request.header("Who").orElse(""), Caller.ANONYMOUS))
        .view(
            LiveView.perCaller(
                "who",
                LiveView.NoParams.class,
                Authorisation.everyone(),
                (caller, none) ->
                    () -> List.of(caller.name(), new TreeSet<>(caller.roles()).toString())))
        .view(
            LiveView.of(
                "document",
                Document.class,
                Authorisation.everyone(),
                document -> () -> document.name() + " by " + document.token()))
        .start();
  }

  @Test
  void callersOfOneNameAndOtherRightsDoNotShareAResult() {
    try (var server = serve()) {
      assertEquals("[\"ada\",\"[admin]\"]", Http.get(server, "/live/who", "Who", "admin").body());
      assertEquals("[\"ada\",\"[guest]\"]", Http.get(server, "/live/who", "Who", "guest").body());
      assertEquals(
          "[\"ada\",\"[admin, guest]\"]", Http.get(server, "/live/who", "Who", "both").body());
      assertEquals("[\"\",\"[]\"]", Http.get(server, "/live/who").body());
      assertEquals(4, server.counts().views());
    }
  }

  @Test
  void parametersThatJsonDoesNotWriteTellResultsApart() {
    try (var server = serve()) {
      for (var token : List.of("A", "B")) {
        assertEquals(
            "\"d by " + token + "\"",
            Http.get(server, "/live/document?name=d&token=" + token).body());
      }
    }
  }

  @Test
  void allSessionsOfACallerShareAResult() {
    var view =
        LiveView.perCaller(
            "who",
            LiveView.NoParams.class,
            Authorisation.everyone(),
            (caller, none) -> () -> caller);
    var now = Instant.now();
    var one = new Caller("ada", Set.of("a", "b"), session("1", now));
    var two = new Caller("ada", Set.of("b", "a"), session("2", now.plusSeconds(1)));
    var params = new LiveView.NoParams();
    assertEquals(ViewKey.of(view, one, params).text(), ViewKey.of(view, two, params).text());
    assertEquals(new Caller("ada", Set.of("a", "b")), ViewKey.of(view, one, params).seenCaller());
  }

  private static Optional<Caller.Session> session(String id, Instant since) {
    return Optional.of(new Caller.Session(id, since, since.plusSeconds(60)));
  }

  @Test
  void aViewWhoseParametersAreNoValuesIsRefusedWhenItIsDeclared() {
    var failure =
        assertThrows(
            IllegalArgumentException.class,
            () -> LiveView.of("loose", Loose.class, Authorisation.everyone(), loose -> () -> 1));
    assertEquals(true, String.valueOf(failure.getMessage()).contains("anything"));
  }
}
