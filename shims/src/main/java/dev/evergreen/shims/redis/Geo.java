package dev.evergreen.shims.redis;

import static dev.evergreen.shims.redis.Kind.SORTED;

import dev.evergreen.provenance.Bytes;
import dev.evergreen.provenance.Cell;
import dev.evergreen.provenance.Touch;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Places on the globe, which are members of sorted sets: a score is 52 bits that tell the longitude
 * and the latitude in turn.
 */
final class Geo {
  private static final int STEPS = 26;

  /** Of a place at the very edge the bits are one more. */
  private static final int BITS = STEPS + 1;

  /** Scores of places that are not at the eastern or northern edge are below. */
  private static final double EDGE = 1L << (2 * STEPS);

  private static final double LATITUDE = 85.05112878;
  private static final double LONGITUDE = 180;
  private static final double EARTH = 6372797.560856;
  private static final String ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz";

  private static final Map<String, Integer> OF_RADIUS =
      Map.of("COUNT", 1, "STORE", 1, "STOREDIST", 1);

  private static final Map<String, Integer> OF_SEARCH =
      Map.of("FROMMEMBER", 1, "FROMLONLAT", 2, "BYRADIUS", 2, "BYBOX", 3, "COUNT", 1);

  private Geo() {}

  private record Place(double longitude, double latitude) {
    /** The middle of the field that a score tells. */
    static Place of(double score) {
      long bits = (long) score;
      return new Place(
          middle(every(bits >> 1), -LONGITUDE, 2 * LONGITUDE),
          middle(every(bits), -LATITUDE, 2 * LATITUDE));
    }

    private static double middle(long number, double from, double scale) {
      double fields = 1L << STEPS;
      double least = from + number * 1.0 / fields * scale;
      double most = from + (number + 1) * 1.0 / fields * scale;
      return Math.clamp((least + most) / 2, from, from + scale);
    }

    long bits(double most) {
      return among((long) ((latitude + most) / (2 * most) * (1L << STEPS)))
          | among((long) ((longitude + LONGITUDE) / (2 * LONGITUDE) * (1L << STEPS))) << 1;
    }

    double to(Place other) {
      double v = Math.sin((Math.toRadians(other.longitude) - Math.toRadians(longitude)) / 2);
      double u = Math.sin((Math.toRadians(other.latitude) - Math.toRadians(latitude)) / 2);
      double a =
          u * u
              + Math.cos(Math.toRadians(latitude))
                  * Math.cos(Math.toRadians(other.latitude))
                  * v
                  * v;
      return 2 * EARTH * Math.asin(Math.sqrt(a));
    }
  }

  /** Every second bit, from the lowest on. */
  private static long every(long bits) {
    long number = 0;
    for (int i = 0; i < BITS; i++) {
      number |= ((bits >> (2 * i)) & 1) << i;
    }
    return number;
  }

  private static long among(long number) {
    long bits = 0;
    for (int i = 0; i < BITS; i++) {
      bits |= ((number >> i) & 1) << (2 * i);
    }
    return bits;
  }

  /** A member that was found. */
  private record Found(Bytes member, double score, Place place, double distance) {}

  static void define(Commands commands) {
    var c = commands.family("geo");
    c.on("GEOADD", Geo::touchAdd, Geo::add);
    c.on("GEOPOS", Geo::touchMembers, Geo::positions);
    c.on("GEOHASH", Geo::touchMembers, Geo::hashes);
    c.on("GEODIST", Geo::touchMembers, Geo::distance);
    c.unordered(
        "GEOSEARCH GEORADIUS_RO GEORADIUSBYMEMBER_RO",
        call -> call.reads(SORTED, call.key(1)),
        Geo::search);
    c.on("GEOSEARCHSTORE", call -> touchStore(call, call.key(1), call.key(2)), Geo::search);
    c.unordered("GEORADIUS GEORADIUSBYMEMBER", Geo::touchRadius, Geo::search);
  }

  private static void touchMembers(Call call) {
    call.reads(Call.guards(SORTED, call.key(1)));
    call.from(2).forEach(member -> call.reads(SORTED, call.key(1), member));
  }

  private static int placesFrom(Call call) {
    int at = 2;
    while (List.of("NX", "XX", "CH").contains(call.option(at))) {
      at++;
    }
    return at;
  }

  private static void touchAdd(Call call) {
    for (int i = placesFrom(call) + 2; i < call.words(); i += 3) {
      call.changes(SORTED, call.key(1), call.word(i), true);
    }
  }

  private static void touchStore(Call call, Cell target, Cell source) {
    call.reads(SORTED, source);
    var from = new ArrayList<>(Call.guards(SORTED, source));
    from.add(SORTED.of(source));
    call.touch(Touch.replaces(target).from(from));
  }

  private static void touchRadius(Call call) {
    int at = storeAt(call);
    if (at > 0) {
      touchStore(call, call.key(at + 1), call.key(1));
    } else {
      call.reads(SORTED, call.key(1));
    }
  }

  private static int storeAt(Call call) {
    return Math.max(option(call, "STORE"), option(call, "STOREDIST"));
  }

  /** Where an option is, or -1. */
  private static int option(Call call, String option) {
    return switch (call.option(0)) {
      case "GEORADIUS", "GEORADIUS_RO" -> call.place(option, 6, OF_RADIUS);
      case "GEORADIUSBYMEMBER", "GEORADIUSBYMEMBER_RO" -> call.place(option, 5, OF_RADIUS);
      case "GEOSEARCHSTORE" -> call.place(option, 3, OF_SEARCH);
      default -> call.place(option, 2, OF_SEARCH);
    };
  }

  private static Place place(Call call, int at) {
    var place = new Place(SortedSets.number(call.word(at)), SortedSets.number(call.word(at + 1)));
    if (Math.abs(place.longitude) > LONGITUDE || Math.abs(place.latitude) > LATITUDE) {
      throw new Refusal("ERR");
    }
    return place;
  }

  private static Object add(Call call) {
    int at = placesFrom(call);
    var flags = call.from(2).subList(0, at - 2).stream().map(Geo::capitals).toList();
    if (call.words() == at
        || (call.words() - at) % 3 != 0
        || (flags.contains("NX") && flags.contains("XX"))) {
      throw new Refusal("ERR");
    }
    var places = new ArrayList<Place>();
    for (int i = at; i < call.words(); i += 3) {
      places.add(place(call, i));
    }
    var scores = call.scores(call.key(1));
    long added = 0;
    long changed = 0;
    for (int i = 0; i < places.size(); i++) {
      var member = call.word(at + 3 * i + 2);
      var old = scores.get(member);
      double score = places.get(i).bits(LATITUDE);
      if (SortedSets.allowed(flags, old, score)) {
        scores.put(member, score);
        added += old == null ? 1 : 0;
        changed += old == null || old != score ? 1 : 0;
      }
    }
    call.change(call.key(1), SORTED, scores);
    return flags.contains("CH") ? changed : added;
  }

  private static String capitals(Bytes word) {
    return word.text().toUpperCase(Locale.ROOT);
  }

  private static Object positions(Call call) {
    var scores = call.scores(call.key(1));
    return call.from(2).stream()
        .map(scores::get)
        .map(score -> score == null ? Resp.NIL : shown(Place.of(score)))
        .toList();
  }

  private static Object shown(Place place) {
    return List.of(shown(place.longitude), shown(place.latitude));
  }

  private static Bytes shown(double degrees) {
    var text = new BigDecimal(degrees).setScale(17, RoundingMode.HALF_EVEN).stripTrailingZeros();
    return Bytes.of(text.toPlainString());
  }

  private static Object hashes(Call call) {
    var scores = call.scores(call.key(1));
    return call.from(2).stream()
        .map(scores::get)
        .map(score -> score == null ? Resp.NIL : hash(Place.of(score)))
        .toList();
  }

  /** As others write it, who take latitudes up to the poles. */
  private static Object hash(Place place) {
    long bits = place.bits(90);
    var text = new StringBuilder();
    for (int i = 1; i <= 10; i++) {
      text.append(ALPHABET.charAt((int) ((bits >> (2 * STEPS - 5 * i)) & 31)));
    }
    return Bytes.of(text + "0");
  }

  private static double metres(String unit) {
    return switch (unit) {
      case "M" -> 1;
      case "KM" -> 1000;
      case "FT" -> 0.3048;
      case "MI" -> 1609.34;
      default -> throw new Refusal("ERR");
    };
  }

  private static Bytes shown(double metres, double unit) {
    return Bytes.of(
        new BigDecimal(metres / unit).setScale(4, RoundingMode.HALF_EVEN).toPlainString());
  }

  private static Object distance(Call call) {
    double unit = call.words() > 4 ? metres(call.option(4)) : 1;
    var scores = call.scores(call.key(1));
    var from = scores.get(call.word(2));
    var to = scores.get(call.word(3));
    return from == null || to == null ? Resp.NIL : shown(Place.of(from).to(Place.of(to)), unit);
  }

  /** Where a search looks, and how its words are spread. */
  private record Area(Place middle, double width, double height, boolean round, double unit) {
    boolean holds(Place place) {
      if (round) {
        return middle.to(place) <= width;
      }
      return EARTH * Math.abs(Math.toRadians(place.latitude) - Math.toRadians(middle.latitude))
              <= height / 2
          && place.to(new Place(middle.longitude, place.latitude)) <= width / 2;
    }
  }

  /** A length that is not negative. */
  private static double length(Call call, int at) {
    double length = SortedSets.number(call.word(at));
    if (length < 0) {
      throw new Refusal("ERR");
    }
    return length;
  }

  private static Area area(Call call, Map<Bytes, Double> scores) {
    var name = call.option(0);
    if (name.startsWith("GEORADIUS")) {
      boolean byMember = name.contains("MEMBER");
      var middle = byMember ? member(scores, call.word(2)) : place(call, 2);
      int at = byMember ? 3 : 4;
      double unit = metres(call.option(at + 1));
      return new Area(middle, length(call, at) * unit, 0, true, unit);
    }
    int member = option(call, "FROMMEMBER");
    int place = option(call, "FROMLONLAT");
    int radius = option(call, "BYRADIUS");
    int box = option(call, "BYBOX");
    var middle = member > 0 ? member(scores, call.word(member + 1)) : place(call, place + 1);
    if (radius > 0) {
      double unit = metres(call.option(radius + 2));
      return new Area(middle, length(call, radius + 1) * unit, 0, true, unit);
    }
    double unit = metres(call.option(box + 3));
    return new Area(
        middle, length(call, box + 1) * unit, length(call, box + 2) * unit, false, unit);
  }

  private static Place member(Map<Bytes, Double> scores, Bytes name) {
    if (scores.isEmpty()) {
      // Nobody is near, wherever that is.
      return new Place(0, 0);
    }
    var score = scores.get(name);
    if (score == null) {
      throw new Refusal("ERR");
    }
    return Place.of(score);
  }

  private static Object search(Call call) {
    var name = call.option(0);
    boolean storing = name.equals("GEOSEARCHSTORE");
    int store = name.startsWith("GEORADIUS") ? storeAt(call) : -1;
    if (option(call, "ANY") > 0 || option(call, "STOREDIST") > 0) {
      throw new UnsupportedOperationException("as many as the store finds first");
    }
    var scores = call.scores(call.key(storing ? 2 : 1));
    var found = found(call, scores);
    if (storing || store > 0) {
      var kept = new TreeMap<Bytes, Double>();
      found.forEach(one -> kept.put(one.member, one.score));
      call.set(call.key(storing ? 1 : store + 1), SORTED, kept);
      return (long) kept.size();
    }
    double unit = scores.isEmpty() ? 1 : area(call, scores).unit;
    return new HashSet<>(found.stream().map(one -> told(call, one, unit)).toList());
  }

  private static List<Found> found(Call call, Map<Bytes, Double> scores) {
    if (scores.isEmpty() && call.option(0).startsWith("GEORADIUSBYMEMBER")) {
      // Without a set its radius is not looked at.
      return List.of();
    }
    var area = area(call, scores);
    boolean atEdge = area.middle.bits(LATITUDE) >= EDGE;
    var all = new ArrayList<Found>();
    scores.forEach(
        (member, score) -> {
          var place = Place.of(score);
          // The store looks from field to field: to no negative score, and not behind the edge.
          if (score >= 0 && (score < EDGE || atEdge) && area.holds(place)) {
            if (atEdge) {
              throw new UnsupportedOperationException("the store has its own fields there");
            }
            all.add(new Found(member, score, place, area.middle.to(place)));
          }
        });
    var order = Comparator.comparingDouble(Found::distance);
    all.sort(option(call, "DESC") > option(call, "ASC") ? order.reversed() : order);
    int most = (int) Math.min(all.size(), most(call));
    if (most < all.size() && order.compare(all.get(most - 1), all.get(most)) == 0) {
      throw new UnsupportedOperationException(
          "which of two that are as near is the store's business");
    }
    return all.subList(0, most);
  }

  private static long most(Call call) {
    int at = option(call, "COUNT");
    long most = at < 0 ? Long.MAX_VALUE : call.number(at + 1);
    if (most <= 0) {
      throw new Refusal("ERR");
    }
    return most;
  }

  private static Object told(Call call, Found one, double unit) {
    var told = new ArrayList<Object>(List.of(one.member));
    if (option(call, "WITHDIST") > 0) {
      told.add(shown(one.distance, unit));
    }
    if (option(call, "WITHHASH") > 0) {
      told.add((long) one.score);
    }
    if (option(call, "WITHCOORD") > 0) {
      told.add(shown(one.place));
    }
    return told.size() == 1 ? one.member : told;
  }
}
