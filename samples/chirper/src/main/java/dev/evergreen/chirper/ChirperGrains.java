package dev.evergreen.chirper;

import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.web.SignedSessions;
import java.util.function.Function;

/** The grain types that make Chirper, for a node of any kind. */
public final class ChirperGrains {

  private ChirperGrains() {}

  /** All of them. */
  public static GrainTypes types() {
    return types(UserGrain::new);
  }

  /** All of them, with users made in another way. */
  public static GrainTypes types(Function<GrainContext<String>, ? extends User> user) {
    return GrainTypes.create()
        .add(User.class, user)
        .add(Archive.class, ArchiveGrain::new)
        .add(NameIndex.class, NameIndexGrain::new)
        .addAll(SignedSessions.grains());
  }
}
