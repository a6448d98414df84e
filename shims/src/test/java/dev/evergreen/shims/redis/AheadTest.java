package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.fibers.Buffers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which requests are found that may be carried out before their turn. */
class AheadTest {
  private static final String KILL = array("SCRIPT", "KILL");
  private static final String FUNCTION_KILL = array("function", "kill");
  private static final String UNPAUSE = array("CLIENT", "UNPAUSE");

  private static String array(String... words) {
    return new String(Identity.request(words), StandardCharsets.ISO_8859_1);
  }

  private static List<String> found(String... said) {
    var all = ByteBuffer.wrap(String.join("", said).getBytes(StandardCharsets.ISO_8859_1));
    return Ahead.find(all).stream()
        .map(
            early -> {
              var request = new byte[early.batch().length()];
              all.get(early.batch().from(), request);
              return new String(request, StandardCharsets.ISO_8859_1);
            })
        .toList();
  }

  @Test
  void whatEndsABusyScriptOrAPauseIsFoundInItsOrder() {
    assertEquals(
        List.of(KILL, UNPAUSE, FUNCTION_KILL, "script kill\r\n"),
        found(
            array("GET", "k"),
            KILL,
            "*0\r\n",
            "\r\n",
            array("EVAL", "return 1", "0"),
            UNPAUSE,
            array("BLPOP", "k", "0"),
            FUNCTION_KILL,
            "GET \"a b\"\r\n",
            "script kill\r\n"));
  }

  @Test
  void nothingIsFoundBehindWhatMayMakeAnotherRequestOfIt() {
    for (var before :
        List.of(
            array("MULTI"),
            array("EXEC"),
            array("QUIT"),
            array("RESET"),
            array("AUTH", "user", "password"),
            array("HELLO", "3"),
            array("SUBSCRIBE", "c"),
            array("MONITOR"),
            array("CLIENT", "REPLY", "OFF"),
            array("CLIENT", "PAUSE", "1000"),
            array("CLIENT", "KILL", "ID", "1"),
            array("SHUTDOWN", "NOSAVE"),
            array("WAIT", "1", "0"),
            array("REPLICAOF", "NO", "ONE"),
            array("SYNC"),
            "AUTH password\r\n",
            "GET \"\r\n",
            "GET \0\r\n",
            "*1\r\n+strange\r\n",
            "*1\r\n$1000000\r\n")) {
      assertEquals(List.of(), found(before, KILL), before);
    }
  }

  /** Redis takes it for no line, and ends the connection. */
  @Test
  void nothingIsFoundBehindALineThatIsTooLong() {
    var most = "GET " + "k".repeat(Buffers.SIZE - 6) + "\r\n";
    assertEquals(List.of(KILL), found(most, KILL));
    assertEquals(List.of(), found("k" + most, KILL));
  }

  /** What a value holds is no request. */
  @Test
  void nothingIsFoundInsideARequest() {
    assertEquals(List.of(UNPAUSE), found(array("SET", "k", KILL), UNPAUSE));
    assertEquals(List.of(), found(array("SET", "k", KILL + KILL).substring(0, 60)));
  }

  @Test
  void whatIsNotWholeIsNotFoundYet() {
    for (int length = 0; length < KILL.length(); length++) {
      assertEquals(List.of(), found(KILL.substring(0, length)));
    }
    assertEquals(List.of(KILL), found(KILL));
  }

  /** They do nothing else. */
  @Test
  void whatMayEndOthersOrTheServerIsNotFound() {
    var others =
        Stream.of(
                array("SHUTDOWN"),
                array("CLIENT", "KILL", "ID", "1"),
                array("CLIENT", "UNBLOCK", "1"),
                array("SCRIPT", "FLUSH"),
                array("FUNCTION", "FLUSH"))
            .toList();
    for (var other : others) {
      assertEquals(List.of(), found(other));
    }
  }
}
