package dev.evergreen.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Strongly connected components, compared with what they are by definition. */
class ComponentsTest {

  @Test
  void twoNodesAreInOneComponentIfTheyReachEachOther() {
    var random = new Random(1);
    for (int i = 0; i < 2_000; i++) {
      var graph = randomGraph(random);
      var reached = new HashMap<Integer, Set<Integer>>();
      graph.keySet().forEach(node -> reached.put(node, reachedFrom(node, graph)));
      var components = Components.of(graph.keySet(), graph::get);
      assertEquals(
          graph.keySet().stream().sorted().toList(),
          components.stream().flatMap(List::stream).sorted().toList());
      for (var component : components) {
        for (int node : component) {
          assertEquals(
              graph.keySet().stream()
                  .filter(other -> reached.getOrDefault(node, Set.of()).contains(other))
                  .filter(other -> reached.getOrDefault(other, Set.of()).contains(node))
                  .toList(),
              component.stream().sorted().toList(),
              () -> "in " + graph);
        }
      }
    }
  }

  @Test
  void whatCanBeReachedComesFirst() {
    var random = new Random(2);
    for (int i = 0; i < 500; i++) {
      var graph = randomGraph(random);
      var before = new HashSet<Integer>();
      for (var component : Components.of(graph.keySet(), graph::get)) {
        before.addAll(component);
        for (int node : component) {
          assertTrue(before.containsAll(reachedFrom(node, graph)), () -> "in " + graph);
        }
      }
    }
  }

  @Test
  void aLongWayIsNoDeepRecursion() {
    int length = 100_000;
    var nodes = IntStream.range(0, length).boxed().toList();
    assertEquals(1, Components.of(nodes, node -> List.of((node + 1) % length)).size());
  }

  private static Map<Integer, List<Integer>> randomGraph(Random random) {
    int nodes = 1 + random.nextInt(8);
    var graph = new HashMap<Integer, List<Integer>>();
    for (int node = 0; node < nodes; node++) {
      var next = new ArrayList<Integer>();
      for (int edges = random.nextInt(3); edges > 0; edges--) {
        next.add(random.nextInt(nodes));
      }
      graph.put(node, next);
    }
    return graph;
  }

  private static Set<Integer> reachedFrom(int start, Map<Integer, List<Integer>> graph) {
    var reached = new HashSet<Integer>();
    var frontier = new ArrayList<Integer>();
    frontier.add(start);
    while (!frontier.isEmpty()) {
      int node = frontier.removeLast();
      if (reached.add(node)) {
        frontier.addAll(graph.getOrDefault(node, List.of()));
      }
    }
    return reached;
  }
}
