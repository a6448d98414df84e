package dev.evergreen.bench.polymix;

import java.util.Collection;
import java.util.stream.Stream;

/**
 * What was found at one rate.
 *
 * @param pace how long the origin thought, of Polymix-3's 2.5 s
 * @param hits how many of a hundred were made before they were asked for
 * @param all the mean time of an answer, in milliseconds, as the two that follow
 * @param ofHits that of a hit
 * @param ofMisses that of another
 * @param lost how many requests got no answer
 */
public record Result(
    String server,
    int rate,
    double pace,
    double hits,
    double all,
    double ofHits,
    double ofMisses,
    int lost) {

  record Answer(double millis, boolean hit) {}

  static Result of(String server, int rate, double pace, Collection<Answer> answers, int lost) {
    return new Result(
        server,
        rate,
        pace,
        answers.stream().mapToDouble(answer -> answer.hit() ? 100 : 0).average().orElse(0),
        mean(answers.stream()),
        mean(answers.stream().filter(Answer::hit)),
        mean(answers.stream().filter(answer -> !answer.hit())),
        lost);
  }

  private static double mean(Stream<Answer> answers) {
    return answers.mapToDouble(Answer::millis).average().orElse(0);
  }
}
