package dev.evergreen.proxy.rules;

import java.util.Locale;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * How a cache handled a request, as a member of the field Cache-Status (RFC 9211).
 *
 * @param forward why the request went to the origin; null if it was a hit
 * @param forwardStatus what the origin answered, if that is not what the client gets
 * @param ttl how long the response is still fresh, in seconds; negative if it is stale
 * @param stored whether the cache stored the origin's response
 * @param collapsed whether the request waited for another one's answer
 * @param detail what else there is to say, as a token
 */
public record CacheStatus(
    @Nullable Forward forward,
    OptionalInt forwardStatus,
    OptionalLong ttl,
    boolean stored,
    boolean collapsed,
    @Nullable String detail) {

  /** Most are not longer. */
  private static final int LENGTH = 64;

  /** Why a request was forwarded (RFC 9211 §2.2). */
  public enum Forward {
    /** The cache was told not to handle it. */
    BYPASS,
    /** Its method is not served from the cache. */
    METHOD,
    /** Nothing was stored for its URI. */
    URI_MISS,
    /** What was stored for its URI does not match its fields. */
    VARY_MISS,
    /** What was stored is fresh, but the request asked for more. */
    REQUEST,
    /** What was stored is stale. */
    STALE,
    /** Of what was wanted only a part was stored. */
    PARTIAL;

    private final String token = name().toLowerCase(Locale.ROOT).replace('_', '-');

    /** As the field has it. */
    @Override
    public String toString() {
      return token;
    }
  }

  /** A hit. */
  public static CacheStatus hit(long ttl) {
    return new CacheStatus(null, OptionalInt.empty(), OptionalLong.of(ttl), false, false, null);
  }

  /** A request that was forwarded. */
  public static CacheStatus forwarded(Forward why) {
    return new CacheStatus(why, OptionalInt.empty(), OptionalLong.empty(), false, false, null);
  }

  /** The same with the origin's status. */
  public CacheStatus withForwardStatus(int status) {
    return new CacheStatus(forward, OptionalInt.of(status), ttl, stored, collapsed, detail);
  }

  /** The same with the time for which the response is fresh. */
  public CacheStatus withTtl(long seconds) {
    return new CacheStatus(
        forward, forwardStatus, OptionalLong.of(seconds), stored, collapsed, detail);
  }

  /** The same, where the response was stored. */
  public CacheStatus asStored() {
    return new CacheStatus(forward, forwardStatus, ttl, true, collapsed, detail);
  }

  /** The same, where the request waited for another's answer. */
  public CacheStatus asCollapsed() {
    return new CacheStatus(forward, forwardStatus, ttl, stored, true, detail);
  }

  /** The same with something else to say. */
  public CacheStatus withDetail(String token) {
    return new CacheStatus(forward, forwardStatus, ttl, stored, collapsed, token);
  }

  /**
   * The member of the field.
   *
   * @param cache the cache's name, a token
   */
  public String member(String cache) {
    return appendTo(new StringBuilder(LENGTH).append(cache).append("; ")).toString();
  }

  /** The parameters of the member, as the field has them. */
  @Override
  public String toString() {
    return appendTo(new StringBuilder(LENGTH)).toString();
  }

  private StringBuilder appendTo(StringBuilder text) {
    if (forward == null) {
      text.append("hit");
    } else {
      text.append("fwd=").append(forward);
    }
    if (forwardStatus.isPresent()) {
      text.append("; fwd-status=").append(forwardStatus.getAsInt());
    }
    if (ttl.isPresent()) {
      text.append("; ttl=").append(ttl.getAsLong());
    }
    if (stored) {
      text.append("; stored");
    }
    if (collapsed) {
      text.append("; collapsed");
    }
    if (detail != null) {
      text.append("; detail=").append(detail);
    }
    return text;
  }
}
