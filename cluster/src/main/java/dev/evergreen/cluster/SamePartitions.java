package dev.evergreen.cluster;

import com.typesafe.config.Config;
import java.util.List;
import org.apache.pekko.cluster.ConfigValidation;
import org.apache.pekko.cluster.JoinConfigCompatChecker;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lets nobody join who divides the grains into another number of partitions: a grain would be
 * active on two nodes. Made by Pekko, by its name in the settings.
 */
public final class SamePartitions extends JoinConfigCompatChecker {

  /** Where the number stands. */
  static final String KEY = "evergreen.cluster.partitions";

  /** Called by Pekko. */
  public SamePartitions() {}

  @Override
  public Seq<String> requiredKeys() {
    return CollectionConverters.asScala(List.of(KEY)).toSeq();
  }

  @Override
  public ConfigValidation check(Config joining, Config present) {
    return JoinConfigCompatChecker.fullMatch(requiredKeys(), joining, present);
  }
}
