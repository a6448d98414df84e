package guide;

// snippet hello
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;

public final class Hello {
  public interface Greeter extends Grain {
    @ReadOnly
    String greet(String name);
  }

  public static void main(String[] arguments) {
    try (var node =
        EmbeddedNode.builder()
            .grain(Greeter.class, context -> name -> context.key() + ", " + name)
            .start()) {
      System.out.println(node.grains().get(Greeter.class, "Good morning").greet("Ada"));
    }
  }
}
// end
