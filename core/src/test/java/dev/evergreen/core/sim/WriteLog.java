package dev.evergreen.core.sim;

import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * All writes and what their callers were told, for property 3: an acknowledged write is never lost,
 * a refused one never took effect, none took effect twice, and one that began after another was
 * acknowledged comes after it.
 */
final class WriteLog {

  private enum Status {
    UNKNOWN,
    ACKNOWLEDGED,
    REFUSED
  }

  private static final class Entry {
    final String grain;
    final long versionBefore;
    Status status = Status.UNKNOWN;

    Entry(String grain, long versionBefore) {
      this.grain = grain;
      this.versionBefore = versionBefore;
    }
  }

  private final Consumer<String> violation;
  private final Map<Long, Entry> entries = new TreeMap<>();
  private final Map<String, Long> acknowledgedVersions = new TreeMap<>();
  private final Set<Long> noted = new TreeSet<>();

  WriteLog(Consumer<String> violation) {
    this.violation = violation;
  }

  /** The highest version of a grain that some caller knows. */
  long knownVersion(String grain) {
    return acknowledgedVersions.getOrDefault(grain, 0L);
  }

  void begun(long action, String grain) {
    entries.put(action, new Entry(grain, knownVersion(grain)));
  }

  void acknowledged(long action, long version) {
    var entry = entry(action);
    entry.status = Status.ACKNOWLEDGED;
    if (version <= entry.versionBefore) {
      violation.accept(
          "3: action "
              + action
              + " made version "
              + version
              + " of "
              + entry.grain
              + ", but version "
              + entry.versionBefore
              + " was acknowledged before it began");
    }
    acknowledgedVersions.merge(entry.grain, version, Math::max);
  }

  boolean isAcknowledged(long action) {
    return entry(action).status == Status.ACKNOWLEDGED;
  }

  void refused(long action) {
    entry(action).status = Status.REFUSED;
  }

  /** The caller was told that the action has not even begun. */
  void notStarted(long action) {
    for (long inside = action + 1; inside < action + 10; inside++) {
      var entry = entries.get(inside);
      if (action % 10 == 0 && entry != null && entry.status == Status.ACKNOWLEDGED) {
        violation.accept(
            "3: action " + action + " counts as not started, but has done action " + inside);
      }
    }
  }

  /** Judges a grain's final state by the actions that it says it consists of. */
  void judge(String grain, long version, List<Long> applied) {
    var distinct = new HashSet<>(applied);
    if (distinct.size() != applied.size()) {
      violation.accept("3: an action took effect twice on " + grain + ": " + applied);
    }
    if (version < knownVersion(grain)) {
      violation.accept(
          "3: " + grain + " has version " + version + ", acknowledged was " + knownVersion(grain));
    }
    entries.forEach(
        (action, entry) -> {
          if (!entry.grain.equals(grain)) {
            return;
          }
          if (entry.status == Status.ACKNOWLEDGED && !distinct.contains(action)) {
            violation.accept(
                "3: acknowledged action " + action + " is not in the state of " + grain);
          }
          if (entry.status == Status.REFUSED && distinct.contains(action)) {
            violation.accept("3: action " + action + " on " + grain + " failed, but took effect");
          }
        });
  }

  /** A node of the newer version has performed an action, and noted so in the grain's state. */
  void noted(long action) {
    noted.add(action);
  }

  /** Judges what a grain's final state says of what nodes of the newer version have done. */
  void judgeNoted(String grain, List<Long> kept) {
    for (long action : noted) {
      if (entry(action).grain.equals(grain) && !kept.contains(action)) {
        violation.accept(
            "3: " + grain + " has lost what a newer node wrote by action " + action + ": " + kept);
      }
    }
  }

  /** How many writes there were, for people. */
  String summary() {
    var counts = new EnumMap<Status, Integer>(Status.class);
    entries.values().forEach(entry -> counts.merge(entry.status, 1, Integer::sum));
    return counts.toString();
  }

  private Entry entry(long action) {
    var entry = entries.get(action);
    if (entry == null) {
      throw new IllegalStateException("action " + action + " has not begun");
    }
    return entry;
  }
}
