package guide;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.cluster.ClusterNode;
import dev.evergreen.cluster.Seeds;
import dev.evergreen.cluster.links.LinkSecurity;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.Storage;
import dev.evergreen.settings.FreePorts;
import dev.evergreen.storage.SqliteStorage;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The code of the chapter on several processes in docs/guide.md, and of docs/operations.md. */
@Timeout(120)
class ClusterGuideTest {

  /** As in the guide's first chapter. */
  public interface Counter extends Grain {
    /** The sum. */
    @ReadOnly
    long value();

    /** Adds to it. */
    void add(long amount);
  }

  static final class CounterGrain implements Counter {
    private final State<Long> sum;

    CounterGrain(GrainContext<String> context) {
      sum = context.state(Long.class, 0L);
    }

    @Override
    public long value() {
      return sum.get();
    }

    @Override
    public void add(long amount) {
      sum.set(sum.get() + amount);
    }
  }

  static ClusterNode start(Storage storage, int port, String... seeds) {
    // snippet cluster
    return ClusterNode.builder()
        .name("shop")
        .grain(Counter.class, CounterGrain::new)
        .storage(storage) // one that all nodes share
        .listen("127.0.0.1", port)
        .seeds(seeds) // for instance "127.0.0.1:25520", "127.0.0.1:25530"
        .start();
    // end
  }

  static ClusterNode.Builder onKubernetes(ClusterNode.Builder builder)
      throws IOException, GeneralSecurityException {
    // snippet kubernetes
    var keys = Path.of("/etc/evergreen/keys");
    return builder
        .listen(InetAddress.getLocalHost().getHostAddress(), 25520)
        .seeds(new Seeds.Dns("shop-nodes.default.svc.cluster.local", 25520, 2))
        .security(
            LinkSecurity.of(
                    keys.resolve("tls.key"), keys.resolve("tls.crt"), keys.resolve("ca.crt"))
                .withoutHostNames());
    // end
  }

  @Test
  void theGuidesCounterIsFoundFromBothNodes(@TempDir Path directory) throws IOException {
    int port = FreePorts.next();
    try (var storage = SqliteStorage.open(directory.resolve("grains.db"));
        var first = start(storage, port, "127.0.0.1:" + port);
        var second = start(storage, 0, "127.0.0.1:" + port)) {
      first.grains().get(Counter.class, "starts").add(2);
      second.grains().get(Counter.class, "starts").add(3);
      assertEquals(5, first.grains().get(Counter.class, "starts").value());
    }
  }
}
