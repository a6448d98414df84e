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
    var config = system.settings().config();
    var stableAfter = config.getDuration(PekkoRules.STABLE);
    var detector = config.getConfig("pekko.cluster.failure-detector");
    // Who stands still is missed after these, and a little more. The resolver looks each second.
    var missedAfter =
        detector
            .getDuration("acceptable-heartbeat-pause")
            .plus(detector.getDuration("heartbeat-interval"));
    var strategy =
        new FewestDown(
            cluster.settings().SelfDataCenter(),
            cluster.selfUniqueAddress(),
            1 + Math.toIntExact(missedAfter.toSeconds()));
    return Option.apply(
        SplitBrainResolver.props(DurationConverters.toScala(stableAfter), strategy));
  }
}
