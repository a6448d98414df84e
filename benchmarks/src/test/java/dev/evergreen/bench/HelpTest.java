package dev.evergreen.bench;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** What the command says of itself. */
class HelpTest {

  /** The list of commands shows the first part of each description alone. */
  @Test
  void eachCommandIsListedByAWholeSentence() {
    assertAll(
        new CommandLine(new Main())
            .getSubcommands().values().stream()
                .map(each -> each.getCommandSpec())
                .map(
                    spec ->
                        () ->
                            assertTrue(
                                spec.usageMessage().description()[0].endsWith("."), spec.name())));
  }
}
