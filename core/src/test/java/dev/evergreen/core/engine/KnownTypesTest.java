package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.evergreen.codec.Limits;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainTypes;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.model.Models;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the nodes of a process know in common of the types of their applications. */
@Timeout(60)
final class KnownTypesTest {

  private static final Limits LIMITS = new Limits(1 << 20, 50);

  record Line(String text, int number) {}

  interface Page extends Grain {
    @ReadOnly
    List<Line> lines();
  }

  /** Loads this test and its types once more. */
  private static final class Again extends ClassLoader {

    Again() {
      super(KnownTypesTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith(KnownTypesTest.class.getName())) {
        return super.loadClass(name, resolve);
      }
      var loaded = findLoadedClass(name);
      return loaded != null ? loaded : define(name);
    }

    private Class<?> define(String name) throws ClassNotFoundException {
      try (var in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        var code = in == null ? new byte[0] : in.readAllBytes();
        return defineClass(name, code, 0, code.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  private static Models models(Limits limits) {
    return new Models(WiredNodes.id("a"), limits, GrainTypes.create());
  }

  private static Class<?> again(Class<?> type) throws ClassNotFoundException {
    return new Again().loadClass(type.getName());
  }

  @Test
  void nodesOfTheSameLimitsKnowATypeInCommon() {
    var one = models(LIMITS);
    var model = one.model(Page.class);
    assertSame(model, models(LIMITS).model(Page.class));
    assertSame(one.values(Line.class), models(LIMITS).values(Line.class));
    assertNotSame(model, models(new Limits(1 << 19, 50)).model(Page.class));
  }

  @Test
  void typesOfOneNameInTwoLoadersAreTwo() throws ClassNotFoundException {
    var other = again(Page.class);
    var ours = models(LIMITS);
    var theirs = models(LIMITS);
    assertSame(Page.class, ours.model(Page.class).type());
    assertSame(other, theirs.model(other).type());
    assertNotSame(ours.values(Line.class), theirs.values(again(Line.class)));
  }

  @Test
  void aLoaderGoesWithTheNodeThatHasItsTypesThoughOthersStay() throws Exception {
    var stays = models(LIMITS);
    stays.model(Page.class);
    var gone = new WeakReference<>(loaderOfANodeThatIsGone());
    WiredNodes.await(
        "the loader goes",
        () -> {
          System.gc();
          return gone.get() == null;
        });
    assertEquals(Page.class, stays.model(Page.class).type());
  }

  private static ClassLoader loaderOfANodeThatIsGone() throws ClassNotFoundException {
    var loader = new Again();
    var node = models(LIMITS);
    node.model(loader.loadClass(Page.class.getName()));
    node.values(loader.loadClass(Line.class.getName()));
    node.dynamic();
    return loader;
  }
}
