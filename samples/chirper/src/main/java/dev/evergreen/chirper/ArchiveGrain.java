package dev.evergreen.chirper;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.State;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;

/** One month of a user's older posts. */
final class ArchiveGrain implements Archive {

  private final State<Month> month;

  ArchiveGrain(GrainContext<Key> context) {
    month = context.state(Month.class, new Month(List.of()));
  }

  @Override
  public List<Chirp> messagesBehind(Chirp.Place place, int most) {
    return month.get().chirps().stream().filter(place::isBefore).limit(most).toList();
  }

  @Override
  public int add(List<Chirp> chirps) {
    var all = new TreeMap<Instant, Chirp>(Comparator.reverseOrder());
    month.get().chirps().forEach(chirp -> all.put(chirp.at(), chirp));
    chirps.forEach(chirp -> all.put(chirp.at(), chirp));
    month.set(new Month(List.copyOf(all.values())));
    return all.size();
  }

  @Override
  public int remove(Instant at) {
    var left = month.get().chirps().stream().filter(chirp -> !chirp.at().equals(at)).toList();
    month.set(new Month(left));
    return left.size();
  }

  /** The state: posts, newest first. */
  record Month(List<Chirp> chirps) {}
}
