package dev.evergreen.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class PostgresDatabaseTest {

  /** A server that is away for long does not make it wait long for the table, once it is there. */
  @Test
  void onlyAWaitThatWasTooShortIsFollowedByALongerOne() {
    assertEquals(400, PostgresDatabase.nextWait(200, true));
    assertEquals(200, PostgresDatabase.nextWait(200, false));
  }
}
