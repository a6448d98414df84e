package dev.evergreen.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option of a command by which it writes its table into a document, too. */
final class ReportOption {

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // picocli sets it before it calls
  private CommandSpec command;

  @Option(
      names = "--report",
      paramLabel = "FILE",
      arity = "0..1",
      fallbackValue = "docs/evaluation",
      description =
          "Replaces the table in this document, or in that of this folder which has a place for it, and figures in the folder figures beside it; docs/evaluation unless something is named")
  private @Nullable Path document;

  boolean isGiven() {
    return document != null;
  }

  /**
   * The place for the table; null if the option was not given.
   *
   * @throws ParameterException if the document has none of this name
   */
  @Nullable Section section(String name) {
    if (document == null) {
      return null;
    }
    try {
      return Files.isDirectory(document) ? Section.in(document, name) : Section.of(document, name);
    } catch (IOException e) {
      throw new ParameterException(command.commandLine(), "--report: " + e, e);
    }
  }

  /** Where the figures go: beside the document, or else there. */
  Path figures(Path otherwise) {
    if (document == null) {
      return otherwise;
    }
    return Files.isDirectory(document)
        ? document.resolve("figures")
        : document.toAbsolutePath().resolveSibling("figures");
  }
}
