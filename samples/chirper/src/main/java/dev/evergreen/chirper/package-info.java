/**
 * Chirper: a small social network, the running example of "Reactive Computations for Distributed
 * Actors" (004 §2.1), grown into something one can use.
 *
 * <p>Three grain types hold everything. A {@link dev.evergreen.chirper.User} has its posts and whom
 * it follows. An {@link dev.evergreen.chirper.Archive} has the older posts of one user and month,
 * so that a user's own state stays small. A {@link dev.evergreen.chirper.NameIndex} is a page of a
 * large set of names: all people, and each person's followers. Calls go from users to archives and
 * indexes, and from users to other users only to read; so no two grains wait for each other.
 */
@NullMarked
package dev.evergreen.chirper;

import org.jspecify.annotations.NullMarked;
