package dev.evergreen.web;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The bytes of the answers that are on their way: they are held until the client has taken them. A
 * payer may have several answers as long as they are within its share; a single one that is larger
 * is let through.
 */
final class Answers {

  private final long most;
  private final long mostOfPayer;

  /** Of those that have any; guarded by this, as is the sum. */
  private final Map<Object, Long> byPayer = new HashMap<>();

  private long bytes;

  Answers(WebSettings settings) {
    this.most = settings.maxAnswerBytes();
    this.mostOfPayer = settings.maxAnswerBytesPerAddress();
  }

  /**
   * Whether there may be room for one more answer, before anything is done for it.
   *
   * @throws WebException 503 if not
   */
  synchronized void checkRoom(List<?> payers) {
    if (bytes >= most || payers.stream().anyMatch(payer -> of(payer) >= mostOfPayer)) {
      throw new WebException(
          503, "too-many-requests", "Too many answers wait to be taken; try again later.");
    }
  }

  /**
   * Holds an answer until it is {@linkplain #giveBack given back}.
   *
   * @throws WebException 429 or 503 if there is no room for it
   */
  synchronized void hold(List<?> payers, int length) {
    for (var payer : payers) {
      if (of(payer) > 0 && of(payer) + length > mostOfPayer) {
        throw new WebException(
            429, "too-many-bytes", "The answers that wait to be taken at your address are large.");
      }
    }
    if (bytes > 0 && bytes + length > most) {
      throw new WebException(
          503, "too-many-bytes", "The answers that wait to be taken are large; try again later.");
    }
    add(payers, length);
  }

  /**
   * Holds an answer that says what has been done, for which it is too late to be refused; whether
   * there {@linkplain #checkRoom is room} was looked at before. So it may go beyond the limits, by
   * what is worked on at a time.
   */
  synchronized void holdDone(List<?> payers, int length) {
    add(payers, length);
  }

  synchronized void giveBack(List<?> payers, int length) {
    add(payers, -length);
  }

  private void add(List<?> payers, long more) {
    for (var payer : payers) {
      byPayer.merge(payer, more, (before, m) -> before + m == 0 ? null : Long.valueOf(before + m));
    }
    bytes += more;
  }

  private long of(Object payer) {
    return byPayer.getOrDefault(payer, 0L);
  }

  synchronized long bytes() {
    return bytes;
  }
}
