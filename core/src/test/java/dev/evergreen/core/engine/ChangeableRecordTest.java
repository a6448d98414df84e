package dev.evergreen.core.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.Node;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Records whose constructors make lists that can be changed, where collections hold them. */
@Timeout(60)
final class ChangeableRecordTest {

  record Order(String id, List<String> items) {
    Order {
      items = new ArrayList<>(items);
    }
  }

  record Orders(List<Order> all) {}

  /** Answers copies, and keeps the list that it was given. */
  record Basket(List<String> items) {
    @Override
    public List<String> items() {
      return List.copyOf(items);
    }
  }

  interface Till extends Grain {
    void put(Basket basket);

    @ReadOnly
    Basket basket();
  }

  record TillGrain(State<Basket> state) implements Till {
    @Override
    public void put(Basket basket) {
      state.set(basket);
    }

    @Override
    public Basket basket() {
      return state.get();
    }
  }

  interface Shop extends Grain {
    void put(List<Order> orders);

    @ReadOnly
    List<Order> orders();

    /** Takes apart what it was given. */
    @ReadOnly
    int count(List<Order> of);

    void add(String item);

    void deactivate();
  }

  static final class ShopGrain implements Shop {
    private final GrainContext<String> context;
    private final State<Orders> state;

    ShopGrain(GrainContext<String> context) {
      this.context = context;
      this.state = context.state(Orders.class, new Orders(List.of()));
    }

    @Override
    public void put(List<Order> orders) {
      state.set(new Orders(orders));
    }

    @Override
    public List<Order> orders() {
      return state.get().all();
    }

    @Override
    public int count(List<Order> of) {
      int count = orders().size();
      for (var order : of) {
        count += order.items().size();
        order.items().clear();
      }
      return count;
    }

    @Override
    public void add(String item) {
      var orders = state.get();
      orders.all().getFirst().items().add(item);
      state.set(orders);
    }

    @Override
    public void deactivate() {
      context.deactivate();
    }
  }

  private final Node node =
      EmbeddedNode.builder()
          .grain(Shop.class, ShopGrain::new)
          .grain(Till.class, c -> new TillGrain(c.state(Basket.class, new Basket(List.of()))))
          .start();
  private final Shop shop = node.grains().get(Shop.class, "s");
  private final List<Order> one = List.of(new Order("o", List.of("x")));

  @AfterEach
  void stop() {
    node.close();
  }

  @Test
  void aCallerChangesItsOwnCopyOnly() {
    shop.put(one);
    shop.orders().getFirst().items().add("y");
    assertEquals(one, shop.orders());
  }

  @Test
  void whoGaveAListDoesNotChangeTheState() {
    var till = node.grains().get(Till.class, "t");
    var given = new ArrayList<>(List.of("x"));
    till.put(new Basket(given));
    given.add("y");
    assertEquals(List.of("x"), till.basket().items());
  }

  @Test
  void whoMadeAResultDoesNotChangeIt() {
    var given = new ArrayList<>(List.of("x"));
    var basket = new Basket(given);
    try (var results = node.reactive(() -> basket)) {
      var result = results.tracker().next();
      given.add("y");
      assertEquals(List.of("x"), result.items());
    }
  }

  @Test
  void whatAnOperationChangesInTheStateIsSavedWhenItIsSet() {
    shop.put(one);
    shop.add("y");
    shop.deactivate();
    assertEquals(List.of(new Order("o", List.of("x", "y"))), shop.orders());
  }

  @Test
  void oneTrackersResultIsNotTheOthers() {
    shop.put(one);
    try (var orders = node.reactive(shop::orders)) {
      orders.tracker().next().getFirst().items().clear();
      assertEquals(one, orders.tracker().next());
    }
  }

  @Test
  void eachRunOfAComputationHasItsOwnArguments() {
    var given = List.of(new Order("o", List.of("1", "2")));
    try (var count = node.reactive(() -> shop.count(given))) {
      var counts = count.tracker();
      assertEquals(2, counts.next());
      shop.put(one);
      assertEquals(3, counts.next(Duration.ofSeconds(30)));
    }
  }
}
