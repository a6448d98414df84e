package dev.evergreen.memcached;

import static dev.evergreen.memcached.TextProtocolTest.dialogue;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.fibers.Fibers.Mode;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/** What memcached 1.6.18 cannot do, and what depends on time: its documented replies. */
@Timeout(120)
class MetaCommandsTest {

  /** It is still there, so it is not told as one of the deleted. */
  @Test
  void anItemThatIsMarkedAsStaleIsNotDeleted() throws Exception {
    try (var server = TestServer.start(Mode.PROCESSORS);
        var watcher = server.connect();
        var client = server.connect()) {
      assertEquals("OK", watcher.ask("watch deletions"));
      client.exchange("set a 0 0 1\r\nx\r\nset b 0 0 1\r\nx\r\nmd a I\r\nmd b\r\n");
      var line = watcher.line();
      assertTrue(line.contains("type=deleted key=b cmd=md "), line);
    }
  }

  private static final Map<String, String> DIALOGUES =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry(
                  "a stale item is renewed by the first reader",
                  """
                  > ms f 1 T100
                  > x
                  HD
                  > md f I T30
                  HD
                  > mg f v t
                  VA 1 t30 X W
                  x
                  > mg f v t
                  VA 1 t30 Z X
                  x"""),
              Map.entry(
                  "a missing item is made for the first reader",
                  """
                  > mg new N30 v t
                  VA 0 t30 W

                  > mg new N30 v t
                  VA 0 t30 Z

                  > mg other t N30
                  HD t-1 W
                  > mg third N30 T50 t
                  HD t50 W"""),
              Map.entry(
                  "a client chooses CAS numbers",
                  """
                  > ms k 1 E1000 c
                  > x
                  HD c1000
                  > ms k 1 C1000 E2000 c
                  > y
                  HD c2000
                  > ms k 1 C1000 c
                  > z
                  EX c0
                  > mg made N0 E77 c
                  HD c77 W
                  > ma n N0 E5 c
                  HD c5
                  > ma n E9 c v
                  VA 1 c9
                  1
                  > md k I E3000
                  HD
                  > mg k c v
                  VA 1 c3000 X W
                  y"""),
              Map.entry(
                  "a get tells that nothing changed",
                  """
                  > ms k 1 E7
                  > x
                  HD
                  > mg k v c C7 s Oa
                  HD c7 s1 Oa
                  > mg k v c C8
                  VA 1 c7
                  x
                  > mg none v C7
                  EN"""),
              Map.entry(
                  "a delete leaves a tombstone",
                  """
                  > ms k 1 F5 T100 E9
                  > x
                  HD
                  > md k x
                  HD
                  > mg k v f c t
                  VA 0 f0 c9 t-1

                  > md k x E10 T60 q
                  > mg k c t s
                  HD c10 t60 s0
                  > md none x
                  NF"""),
              Map.entry(
                  "a late value is stored but stale",
                  """
                  > ms k 1 E20 T100
                  > x
                  HD
                  > ms k 1 C10 I
                  > y
                  HD
                  > mg k v t
                  VA 1 t100 X W
                  y
                  > ms k 1 C999999 I
                  > z
                  EX"""),
              Map.entry(
                  "an append may make the item and tells its size",
                  """
                  > ms k 2 MA
                  > ab
                  NS
                  > ms k 2 MA N60 s
                  > ab
                  HD s2
                  > ms k 2 MP N0 s
                  > cd
                  HD s4
                  > mg k v t
                  VA 4 t60
                  cdab"""),
              Map.entry(
                  "a get near the expiry wins the right to renew",
                  """
                  > ms k 1 T20
                  > x
                  HD
                  > mg k R10 t
                  HD t20
                  > mg k R30 t
                  HD t20 W
                  > mg k R30 t
                  HD t20 Z"""),
              Map.entry(
                  "a touch by a get shows the time before and after",
                  """
                  > ms k 1 T20
                  > x
                  HD
                  > mg k t T50
                  HD t20
                  > mg k T60 t
                  HD t60
                  > ma k
                  CLIENT_ERROR cannot increment or decrement non-numeric value"""),
              Map.entry(
                  "the first access is told apart",
                  """
                  > ms k 1
                  > x
                  HD
                  > mg k h u
                  HD h0
                  > mg k h l
                  HD h0 l0
                  > mg k h
                  HD h1"""),
              Map.entry(
                  "binary keys are shown encoded",
                  """
                  > ms AAE= 1 b k
                  > x
                  HD kAAE= b
                  > mg AAE= b v k Oq
                  VA 1 kAAE= b Oq
                  x
                  > mg AAA= b k
                  EN kAAA= b
                  > mg fo b
                  CLIENT_ERROR error decoding key
                  > md AAE= b q
                  > mg AAE= b
                  EN"""),
              Map.entry(
                  "what is made under a binary key is shown so, however it is asked for",
                  """
                  > mg YQ== b N30
                  HD W
                  > mg a k
                  HD kYQ== b Z
                  > ma Yg== b N0
                  HD
                  > mg b k
                  HD kYg== b"""),
              Map.entry(
                  "what is not stored has the size of what was sent",
                  """
                  > ms k 2 MA s
                  > ab
                  NS s2
                  > ms k 3
                  > abc
                  HD
                  > ms k 2 ME s c
                  > xy
                  NS s2 c0"""),
              Map.entry(
                  "a late value leaves the right to renew with who has won it",
                  """
                  > ms k 1 E20
                  > x
                  HD
                  > md k I E30
                  HD
                  > mg k
                  HD X W
                  > ms k 1 C20 I
                  > y
                  HD
                  > mg k v
                  VA 1 Z X
                  y
                  > ms k 1 C0 I
                  > z
                  EX
                  > md k I
                  HD
                  > mg k
                  HD X W"""),
              Map.entry(
                  "numbers of 64 bits have no sign where they are compared",
                  """
                  > ms k 1 E18446744073709551615
                  > x
                  HD
                  > ms k 1 C5 I
                  > y
                  HD
                  > mg k v
                  VA 1 X W
                  y"""),
              Map.entry(
                  "binary keys are read as loosely as by memcached",
                  """
                  > ms a=b= 1 b k
                  > x
                  HD kaA== b
                  > mg aG== b v
                  VA 1
                  x
                  > mg Q-Q-=-= b k
                  EN kQQ== b
                  > mg QQ==QUJD b k
                  EN kQQ== b
                  > mg Q=JD b k
                  EN kQAI= b
                  > mg QQ==QUJ b
                  CLIENT_ERROR error decoding key
                  > mg Q=== b
                  CLIENT_ERROR error decoding key"""),
              Map.entry(
                  "a long opaque token is what is wrong only if nothing else is",
                  """
                  > ms k 1 MZ Oxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                  > x
                  CLIENT_ERROR invalid mode for ms M token
                  > ms k 1 F Oxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                  > x
                  CLIENT_ERROR bad command line format
                  > ma k MZ Oxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                  CLIENT_ERROR invalid mode for ma M token
                  > md k Tx Oxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                  CLIENT_ERROR invalid or duplicate flag
                  > mg k Oxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx Tx
                  CLIENT_ERROR bad token in command line format
                  > mg k N0 Oxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                  CLIENT_ERROR opaque token too long
                  > mg k
                  EN""")));

  @TestFactory
  Iterable<DynamicTest> repliesAreAsDocumented() {
    return DIALOGUES.entrySet().stream()
        .map(
            dialogue ->
                DynamicTest.dynamicTest(dialogue.getKey(), () -> check(dialogue.getValue())))
        .toList();
  }

  private static void check(String text) throws IOException {
    for (var mode : Mode.values()) {
      try (var server = TestServer.start(mode);
          var client = server.connect()) {
        dialogue(client, text);
        assertEquals(0, server.server().store.stats().heldBytes());
      }
    }
  }
}
