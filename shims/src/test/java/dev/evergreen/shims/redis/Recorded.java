package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Answer;
import dev.evergreen.provenance.Operation;
import dev.evergreen.provenance.Recording;
import dev.evergreen.provenance.Redactor;
import dev.evergreen.provenance.Retention;
import dev.evergreen.provenance.SpoolSettings;
import dev.evergreen.provenance.StoredTrace;
import dev.evergreen.provenance.Why;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A directory in which a test records, and what it can be asked. */
record Recorded(Path directory) {
  private static final Duration LONG = Duration.ofSeconds(20);

  /** Records there, and keeps all. */
  Recording record(SpoolSettings settings) throws IOException {
    return record(settings, Retention.ALL);
  }

  Recording record(SpoolSettings settings, Retention retention) throws IOException {
    return Recording.open(directory, "", settings, Redactor.open(directory, List.of()), retention);
  }

  StoredTrace trace() {
    return StoredTrace.open(directory.toString(), LONG);
  }

  /** Why Redis would answer so now. */
  Answer ask(String database, String question) {
    try (var trace = trace()) {
      return ask(trace, database, question);
    }
  }

  static Answer ask(StoredTrace trace, String database, String question) {
    return ask(trace, database, question, null);
  }

  /** Why Redis would have answered so at some time; now if that is null. */
  static Answer ask(StoredTrace trace, String database, String question, @Nullable Instant at) {
    long now = Long.MAX_VALUE;
    var asked = trace.question(now, trace.epoch(now), database, Oracle.words(question), at);
    return new Why(new RedisSpecification(), trace).ask(asked, Why.Wish.ONE);
  }

  /** Why an operation that is on record was answered so. */
  Answer why(Operation question) {
    try (var trace = trace()) {
      return new Why(new RedisSpecification(), trace).ask(question, Why.Wish.ONE);
    }
  }
}
