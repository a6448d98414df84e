package dev.evergreen.bench;

import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Grains;
import dev.evergreen.core.Parallel;
import dev.evergreen.core.ReadOnly;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** The view of 004, Figure 7: its query reads several items. */
interface View extends Grain {

  /** Names the items, once. */
  void dependOn(List<String> items);

  @ReadOnly
  int[] query(boolean sequential);

  @ReadOnly
  int[] oneTimeReactiveQuery(boolean sequential);

  /** The process that it is active in. */
  @ReadOnly
  long process();

  /** Explicit propagation: an item has changed; the view's client is told the new result. */
  void changed(String item, int value);

  /** Its implementation. */
  final class ViewGrain implements View {

    /** The clients of explicit propagation, by view: what a service would keep per connection. */
    static final ConcurrentHashMap<String, Consumer<int[]>> CLIENTS = new ConcurrentHashMap<>();

    private final GrainContext<String> context;
    private final Grains grains;
    private final List<String> names = new ArrayList<>();
    private final List<Item> items = new ArrayList<>();
    private int[] result = {};

    ViewGrain(GrainContext<String> context) {
      this.context = context;
      this.grains = context.grains();
    }

    @Override
    public void dependOn(List<String> names) {
      this.names.addAll(names);
      names.forEach(name -> items.add(grains.get(Item.class, name)));
      result = new int[names.size()];
    }

    @Override
    public int[] query(boolean sequential) {
      if (!sequential) {
        return Parallel.map(items, Item::value).stream().mapToInt(Integer::intValue).toArray();
      }
      var values = new int[items.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = items.get(i).value();
      }
      return values;
    }

    @Override
    public int[] oneTimeReactiveQuery(boolean sequential) {
      try (var computation = context.reactive(() -> query(sequential))) {
        return computation.tracker().next();
      }
    }

    @Override
    public long process() {
      return ProcessHandle.current().pid();
    }

    @Override
    public void changed(String item, int value) {
      result[names.indexOf(item)] = value;
      var client = CLIENTS.get(context.key());
      if (client != null) {
        client.accept(result.clone());
      }
    }
  }
}
