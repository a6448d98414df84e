package dev.evergreen.core.sim;

import dev.evergreen.core.version.Program;
import java.util.List;

/** A computation at the root. */
sealed interface Query {

  /** One read. */
  record One(Ref ref) implements Query {}

  /** A program, with its conditions, parallel reads and exceptions. */
  record Run(List<Step> program) implements Query {}

  /** A cell's version, which must never go back. */
  record VersionOf(String cell) implements Query {}

  /** Either of two reads, whichever returns first. */
  record FirstOf(Ref a, Ref b) implements Query {}

  /** A cell's value, pushed only when it differs by the operation's own comparer. */
  record RoughOf(String cell) implements Query {}

  /** How many twins a ring has, which from two on cannot be told. */
  record TwinsOf(String ring) implements Query {}

  /** What a program of the watching node's version makes of this; a number. */
  record Asks(Program program, String what) implements Query {
    @Override
    public String toString() {
      return "Asks[" + what + "]";
    }
  }

  /** An attempt to write, which a computation may not. */
  record Writing(String cell) implements Query {}

  /** A read, delivered only when it differs by the computation's own comparer. */
  record ParityOf(Ref ref) implements Query {}
}
