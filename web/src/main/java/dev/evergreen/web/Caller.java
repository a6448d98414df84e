package dev.evergreen.web;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Who is asking.
 *
 * @param name the name that the {@link Authenticator} found; empty for a caller who has not signed
 *     in
 * @param roles what the authenticator knows of the caller's rights, for authorisation checks
 * @param session by which sign-in, if that is known; live connections end with it
 */
public record Caller(String name, Set<String> roles, Optional<Session> session) {

  /** A caller who has not signed in. */
  public static final Caller ANONYMOUS = new Caller("", Set.of());

  /**
   * One sign-in.
   *
   * @param id no other sign-in has the same
   * @param since when it was
   * @param until when it is over, if nothing ends it before
   */
  public record Session(String id, Instant since, Instant until) {}

  public Caller {
    roles = Set.copyOf(roles);
  }

  /** A caller of whom no session is known. */
  public Caller(String name, Set<String> roles) {
    this(name, roles, Optional.empty());
  }

  /** A caller who has signed in by this name and has no roles. */
  public static Caller named(String name) {
    return new Caller(name, Set.of());
  }

  /** Whether the caller has signed in. */
  public boolean signedIn() {
    return !name.isEmpty();
  }

  /** Whose shares pay for what is made for this caller: the address's, and the caller's own. */
  List<Object> payers(Object address) {
    // A session is no other caller, and neither are other roles.
    return signedIn() ? List.of(address, named(name)) : List.of(address);
  }

  /** The same name and roles, whatever the session. */
  public Caller withoutSession() {
    return session.isEmpty() ? this : new Caller(name, roles);
  }
}
