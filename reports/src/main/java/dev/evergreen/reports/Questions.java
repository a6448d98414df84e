package dev.evergreen.reports;

import dev.evergreen.codec.Codec;
import dev.evergreen.codec.Limits;
import dev.evergreen.codec.MalformedValueException;
import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.spi.NodeId;
import dev.evergreen.core.spi.NodeView;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** Asks other nodes for their reports. */
final class Questions {

  /** One question under way. */
  private record Question(NodeId to, CompletableFuture<NodeReport> answer) {}

  private static final ValueType REPORT = Codec.create(Limits.DEFAULT).of(NodeReport.class);

  private final NodeView node;
  private final AtomicLong ids = new AtomicLong();
  private final Map<Long, Question> open = new ConcurrentHashMap<>();

  Questions(NodeView node) {
    this.node = node;
  }

  static byte[] encode(NodeReport report) {
    return REPORT.encode(report);
  }

  /** The reports of those that answer in time. */
  List<NodeReport> ask(Collection<NodeId> others, Duration patience) {
    var asked = new LinkedHashMap<Long, CompletableFuture<NodeReport>>();
    try {
      for (var other : others) {
        long id = ids.incrementAndGet();
        var answer = new CompletableFuture<NodeReport>();
        open.put(id, new Question(other, answer));
        asked.put(id, answer);
        if (!node.ask(other, id)) {
          answer.cancel(false);
        }
      }
      await(asked.values(), patience);
    } finally {
      asked.keySet().forEach(open::remove);
    }
    return asked.values().stream()
        .filter(answer -> answer.state() == CompletableFuture.State.SUCCESS)
        .map(CompletableFuture::resultNow)
        .toList();
  }

  private static void await(Collection<CompletableFuture<NodeReport>> answers, Duration patience) {
    try {
      CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
          .get(patience.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException | TimeoutException e) {
      // Those who have answered are enough.
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  void answered(NodeId from, long id, byte[] answer) {
    var question = open.get(id);
    if (question == null || !question.to.equals(from)) {
      return;
    }
    try {
      question.answer.complete((NodeReport) REPORT.decode(answer));
    } catch (MalformedValueException | ValueLimitException e) {
      throw new IllegalArgumentException("The report of " + from + " cannot be read", e);
    }
  }
}
