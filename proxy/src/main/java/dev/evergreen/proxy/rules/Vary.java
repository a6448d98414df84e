package dev.evergreen.proxy.rules;

import dev.evergreen.http.Fields;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The fields of a request by which a response was chosen (RFC 9111 §4.1).
 *
 * @param names in lower case, sorted
 */
public record Vary(List<String> names) {

  /** A response that is the same for all requests. */
  public static final Vary NOTHING = new Vary(List.of());

  /**
   * Fields that are no lists, so that their commas, and the blanks around them, are a part of what
   * they say. Each origin gets them as they are.
   */
  private static final Set<String> NO_LISTS =
      Set.of(
          "authorization",
          "content-location",
          "content-type",
          "cookie",
          "date",
          "from",
          "host",
          "if-modified-since",
          "if-range",
          "max-forwards",
          "origin",
          "range",
          "referer",
          "user-agent");

  /** No field can have it. */
  private static final String LINE = "\r";

  /** Fields whose members have no order and no case, but for a weight. */
  private static final Set<String> UNORDERED =
      Set.of("accept-encoding", "accept-language", "accept-charset");

  /** What the proxy says itself of a client and its connection: no request shows it. */
  private static final Set<String> OF_THE_PROXY =
      Set.of("*", "forwarded", "x-forwarded-for", "via");

  public Vary {
    names = List.copyOf(names);
  }

  /**
   * Of a response; empty if it varies by more than the fields of the client's request: by {@code
   * *}, or by what the proxy adds to it.
   *
   * <p>One with a coding varies by what codings the client accepts, also where its origin forgets
   * to say so: else who has refused that coding (RFC 9110 §12.5.3) would get it from the cache.
   */
  public static Optional<Vary> of(Fields response) {
    boolean coded = response.has("content-encoding");
    if (!coded && !response.has("vary")) {
      return Optional.of(NOTHING);
    }
    var names = new TreeSet<String>();
    if (coded) {
      names.add("accept-encoding");
    }
    for (var name : response.members("vary")) {
      names.add(name.toLowerCase(Locale.ROOT));
    }
    return names.stream().anyMatch(OF_THE_PROXY::contains)
        ? Optional.empty()
        : Optional.of(new Vary(List.copyOf(names)));
  }

  /**
   * What a request has in these fields, such that requests with the same have the same response. A
   * field that is absent is told apart from an empty one. But for fields that are no lists, lines
   * and blanks around members make no difference; nor, where they mean nothing, do order, case and
   * empty members.
   *
   * <p>What is the same here gets the same response, though the origin has seen only one of them:
   * so nothing more may be the same than what the field's specification says means the same.
   */
  public String select(Fields request) {
    if (names.isEmpty()) {
      return "";
    }
    var selected = new StringBuilder();
    for (var name : names) {
      selected.append(name);
      if (request.has(name)) {
        selected.append(':').append(normal(name, request));
      }
      selected.append('\n');
    }
    return selected.toString();
  }

  private static String normal(String name, Fields request) {
    var lines = request.all(name);
    if (NO_LISTS.contains(name)) {
      return String.join(LINE, lines);
    }
    if (UNORDERED.contains(name)) {
      return join(Members.of(lines).stream().map(Vary::withoutCase).sorted());
    }
    if (name.equals("accept")) {
      return join(Members.of(lines).stream().map(Vary::withoutBlanks).sorted());
    }
    return join(Members.withEmpty(lines).stream());
  }

  private static String withoutCase(String member) {
    return withoutBlanks(member).toLowerCase(Locale.ROOT);
  }

  /** Blanks are allowed around ";" (RFC 9110 §5.6.6), but they count in quotes. */
  private static String withoutBlanks(String member) {
    return (member.indexOf(' ') < 0 && member.indexOf('\t') < 0) || member.indexOf('"') >= 0
        ? member
        : member.replaceAll("[ \\t]*;[ \\t]*", ";");
  }

  private static String join(Stream<String> members) {
    return String.join(",", members.toList());
  }
}
