package dev.evergreen.web;

import java.util.Set;

/**
 * Who is asking.
 *
 * @param name the name that the {@link Authenticator} found; empty for a caller who has not signed
 *     in
 * @param roles what the authenticator knows of the caller's rights, for authorisation checks
 */
public record Caller(String name, Set<String> roles) {

  /** A caller who has not signed in. */
  public static final Caller ANONYMOUS = new Caller("", Set.of());

  public Caller {
    roles = Set.copyOf(roles);
  }

  /** A caller who has signed in by this name and has no roles. */
  public static Caller named(String name) {
    return new Caller(name, Set.of());
  }

  /** Whether the caller has signed in. */
  public boolean signedIn() {
    return !name.isEmpty();
  }
}
