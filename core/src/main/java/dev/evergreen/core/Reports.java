package dev.evergreen.core;

import dev.evergreen.codec.MalformedValueException;
import dev.evergreen.codec.ValueLimitException;
import dev.evergreen.codec.ValueType;
import dev.evergreen.core.spi.Message;
import dev.evergreen.core.spi.NodeId;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Asks other nodes for their reports, and gives them this one's. */
final class Reports {

  /** One question under way. */
  private static final class Question {
    private final NodeId to;
    private final Thread waiter = Thread.currentThread();
    private volatile @Nullable NodeReport answer;

    Question(NodeId to) {
      this.to = to;
    }
  }

  private final NodeRuntime node;
  private final ValueType codec;
  private final AtomicLong ids = new AtomicLong();
  private final Map<Long, Question> open = new ConcurrentHashMap<>();

  Reports(NodeRuntime node) {
    this.node = node;
    this.codec = node.codec().of(NodeReport.class);
  }

  /** The reports of those that answer in time. */
  List<NodeReport> ask(Collection<NodeId> others, Duration patience) {
    var asked = new ArrayList<Question>();
    var numbers = new ArrayList<Long>();
    try {
      for (var other : others) {
        long id = ids.incrementAndGet();
        var question = new Question(other);
        numbers.add(id);
        open.put(id, question);
        if (node.send(other, new Message.Inspect(id))) {
          asked.add(question);
        }
      }
      Scope.awaitOutside(
          node,
          () -> asked.stream().allMatch(question -> question.answer != null),
          node.clock().nanos() + Nanos.of(patience));
    } finally {
      numbers.forEach(open::remove);
    }
    return asked.stream().map(question -> question.answer).filter(Objects::nonNull).toList();
  }

  void answer(NodeId from, long id) {
    node.send(from, new Message.Inspected(id, codec.encode(node.report())));
  }

  void answered(NodeId from, Message.Inspected message) {
    var question = open.get(message.id());
    if (question == null || !question.to.equals(from)) {
      return;
    }
    try {
      question.answer = (NodeReport) codec.decode(message.report());
      node.threads().unpark(question.waiter);
    } catch (MalformedValueException | ValueLimitException e) {
      throw new GrainFailureException("The report of " + from + " cannot be read", e);
    }
  }
}
