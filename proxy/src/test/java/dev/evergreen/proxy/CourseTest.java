package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What is kept of how a transaction went. */
class CourseTest {

  @Test
  void ofManyStepsTheFirstAndTheLastAreKept() {
    var course = new Course(0, true);
    course.reached(Point.REQUEST, "GET");
    IntStream.range(0, 10_000).forEach(i -> course.reached(Point.BODY, i));
    course.reached(Point.LOG, "");
    var steps = course.steps();
    assertEquals(64, steps.size());
    assertEquals(
        List.of("GET", "0", "1"), steps.subList(0, 3).stream().map(Course.Step::detail).toList());
    assertEquals("61", steps.get(62).detail());
    assertEquals(Point.LOG, steps.getLast().point());
  }

  @Test
  void whereNobodyLooksNothingIsKept() {
    var course = new Course(0, false);
    course.reached(Point.REQUEST, "GET");
    assertTrue(course.steps().isEmpty());
  }
}
