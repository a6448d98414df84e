package dev.evergreen.proxy;

import dev.evergreen.http.Fields;
import dev.evergreen.http.ResponseHead;
import dev.evergreen.proxy.Statistics.Count;
import dev.evergreen.proxy.rules.Conditions;
import dev.evergreen.proxy.rules.Freshening;
import dev.evergreen.proxy.rules.Validators;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Asks an origin whether what is stored is still right, and keeps what it tells of that (RFC 9111
 * §4.3). It is the same whether a client waits for it or not. For one question.
 */
final class Validation {

  private final Proxy proxy;
  private final String key;
  private final Keeper keeper;

  /** The validators that the question names. */
  private final List<Validators> named = new ArrayList<>();

  /** One of a request, which the keeper is of, too. */
  Validation(Proxy proxy, String key, Keeper keeper) {
    this.proxy = proxy;
    this.key = key;
    this.keeper = keeper;
  }

  /**
   * What a 304 was about.
   *
   * @param first the response that the origin has chosen for the request; it is held
   * @param head what has become of its head
   */
  record Freshened(Found first, Keeper.Refreshed head) implements AutoCloseable {
    @Override
    public void close() {
      first.close();
    }
  }

  /**
   * Asks whether what is stored for the request, or what is for others, is still right (RFC 9111
   * §4.3.1).
   *
   * @param asked what the origin will be asked; its own conditions are replaced
   * @param found what is stored for the request, or null
   */
  void condition(Fields asked, @Nullable Found found) throws IOException {
    var own = found == null ? Validators.NONE : found.validators();
    named.add(own);
    var others = others(found);
    try {
      for (var other : others) {
        named.add(other.validators());
      }
    } finally {
      others.forEach(Found::close);
    }
    Conditions.validate(asked, named, own);
    named.removeIf(Validators::isEmpty);
  }

  /** Whether the question has a condition: else nothing could be validated. */
  boolean hasCondition() {
    return !named.isEmpty();
  }

  /**
   * Updates all that a 304 is about (RFC 9111 §4.3.3, §4.3.4).
   *
   * @param found what is stored for the request, or null; it may be closed with what comes of it
   * @return null if the 304 is about nothing that is stored, or it has come to more than can be
   *     kept: then the whole is to be asked for
   */
  @Nullable Freshened freshen(@Nullable Found found, OriginAnswer answer, long stamp)
      throws IOException {
    var stored = others(found);
    Found first = null;
    try {
      if (found != null) {
        stored.addFirst(found);
      }
      var validators = new ArrayList<Validators>();
      for (var each : stored) {
        validators.add(each.validators());
      }
      var chosen = Freshening.chosen(answer.head(), validators).stream().map(stored::get).toList();
      boolean isMeant = !chosen.isEmpty() && mayMean(answer.head(), chosen.getFirst());
      var head = isMeant ? freshen(chosen, found, answer, stamp) : null;
      if (head == null) {
        return null;
      }
      first = chosen.getFirst();
      return new Freshened(first, head);
    } finally {
      for (var each : stored) {
        if (!each.equals(first) && !each.equals(found)) {
          each.close();
        }
      }
    }
  }

  /** Who says nothing of what it means has been asked about that, and nothing else. */
  private boolean mayMean(ResponseHead notModified, Found stored) throws IOException {
    return !Validators.of(notModified.fields()).isEmpty()
        || named.equals(List.of(stored.validators()));
  }

  private Keeper.@Nullable Refreshed freshen(
      List<Found> chosen, @Nullable Found found, OriginAnswer answer, long stamp)
      throws IOException {
    var first = chosen.getFirst();
    var refreshed = keeper.refresh(first, answer, stamp);
    if (refreshed == null) {
      return null;
    }
    proxy.count(Count.FRESHENED);
    for (var other : chosen.subList(1, chosen.size())) {
      var _ = keeper.refresh(other, answer, stamp);
    }
    if (refreshed.moves() || !first.equals(found)) {
      keeper.adopt(first, refreshed, stamp);
    }
    return refreshed;
  }

  private List<Found> others(@Nullable Found found) {
    return Found.others(proxy.storage(), Proxy.segment(key), found);
  }
}
