package dev.evergreen.core.engine;

import static dev.evergreen.core.engine.TestGrains.assertNames;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import dev.evergreen.core.spi.MemoryStorage;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Values that can be changed although they are frozen, such as arrays: everybody gets a copy. */
final class ChangeableValueTest {

  record Picture(byte[] pixels, List<int[]> lines, List<String> notes) {
    Picture {
      notes = new ArrayList<>(notes);
    }
  }

  /** Paints in place. */
  interface Canvas extends Grain {
    @ReadOnly
    int pixel();

    void paint(int value);

    void paintWithoutSetting(int value);

    void paintAndThrow(int value);

    void spoil();
  }

  static final class CanvasGrain implements Canvas {
    private static final Picture BLANK =
        new Picture(new byte[1], List.of(new int[1]), new ArrayList<>());

    private final State<Picture> state;
    private final GrainContext<String> context;

    CanvasGrain(GrainContext<String> context) {
      this.context = context;
      this.state = context.state(Picture.class, BLANK);
    }

    @Override
    public int pixel() {
      var picture = state.get();
      assertEquals(picture.pixels()[0], Objects.requireNonNull(picture.lines().getFirst())[0]);
      assertEquals(picture.pixels()[0], picture.notes().size());
      return picture.pixels()[0];
    }

    private static Picture painted(Picture picture, int value) {
      picture.pixels()[0] = (byte) value;
      picture.lines().getFirst()[0] = value;
      picture.notes().clear();
      for (int i = 0; i < value; i++) {
        picture.notes().add("painted");
      }
      return picture;
    }

    @Override
    public void paint(int value) {
      state.set(painted(state.get(), value));
    }

    @Override
    public void paintWithoutSetting(int value) {
      painted(state.get(), value);
    }

    @Override
    public void paintAndThrow(int value) {
      paint(value);
      throw new IllegalStateException("spilt " + context.key());
    }

    @Override
    @SuppressWarnings({"unchecked", "rawtypes"}) // what a careless caller could do
    public void spoil() {
      state.set(new Picture(new byte[1], (List) List.of("no line"), List.of()));
    }
  }

  private static Node start(EmbeddedNode.Builder builder) {
    return builder.grain(Canvas.class, CanvasGrain::new).start();
  }

  @Test
  void stateThatIsChangedInPlaceChangesOnlyWhenItIsSet() {
    try (var node = start(EmbeddedNode.builder())) {
      var canvas = node.grains().get(Canvas.class, "a");
      canvas.paintWithoutSetting(7);
      assertEquals(0, canvas.pixel());
      canvas.paint(1);
      canvas.paintWithoutSetting(7);
      assertThrows(IllegalStateException.class, () -> canvas.paintAndThrow(8));
      assertEquals(1, canvas.pixel());
      assertEquals(0, node.grains().get(Canvas.class, "b").pixel());
    }
  }

  @Test
  void stateThatWasChangedInPlaceAndSetIsSaved() {
    var storage = new MemoryStorage();
    try (var node = start(EmbeddedNode.builder().storage(storage))) {
      node.grains().get(Canvas.class, "a").paint(1);
      node.grains().get(Canvas.class, "a").paint(2);
    }
    try (var node = start(EmbeddedNode.builder().storage(storage))) {
      assertEquals(2, node.grains().get(Canvas.class, "a").pixel());
    }
  }

  @Test
  void stateThatIsNoValueIsRefusedWithTheNameOfTheGrain() {
    try (var node = start(EmbeddedNode.builder())) {
      var canvas = node.grains().get(Canvas.class, "a");
      assertNames(assertThrows(InvalidGrainException.class, canvas::spoil), "Canvas");
    }
  }

  @Test
  void everyTrackerGetsAnArrayOfItsOwn() {
    try (var node = start(EmbeddedNode.builder())) {
      var canvas = node.grains().get(Canvas.class, "a");
      canvas.paint(1);
      try (var pixels = node.reactive(() -> new int[] {canvas.pixel()})) {
        var first = pixels.tracker();
        var second = pixels.tracker();
        first.next()[0] = 2;
        assertArrayEquals(new int[] {1}, second.next());
        canvas.paint(2);
        assertArrayEquals(new int[] {2}, second.next());
        assertArrayEquals(new int[] {2}, first.next());
      }
    }
  }
}
