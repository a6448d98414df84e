package dev.evergreen.cluster;

import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;
import org.apache.pekko.cluster.Cluster;
import org.apache.pekko.cluster.DowningProvider;
import org.apache.pekko.cluster.sbr.SplitBrainResolver;
import org.apache.pekko.cluster.sbr.SplitBrainResolverProvider;
import scala.Option;
import scala.concurrent.duration.FiniteDuration;
import scala.jdk.javaapi.DurationConverters;

/**
 * Has Pekko's resolver of split brains decide who is given up, by {@link FewestDown}. Made by
 * Pekko, by its name in the settings.
 */
public final class Downing extends DowningProvider {

  private final ActorSystem system;
  private final SplitBrainResolverProvider shipped;

  /** Called by Pekko. */
  public Downing(ActorSystem system) {
    this.system = system;
    this.shipped = new SplitBrainResolverProvider(system);
  }

  @Override
  public FiniteDuration downRemovalMargin() {
    return shipped.downRemovalMargin();
  }

  @Override
  public Option<Props> downingActorProps() {
    var cluster = Cluster.get(system);
    var stableAfter = system.settings().config().getDuration(PekkoRules.STABLE);
    var strategy = new FewestDown(cluster.settings().SelfDataCenter(), cluster.selfUniqueAddress());
    return Option.apply(
        SplitBrainResolver.props(DurationConverters.toScala(stableAfter), strategy));
  }
}
