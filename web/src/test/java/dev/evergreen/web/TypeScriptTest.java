package dev.evergreen.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.evergreen.core.EmbeddedNode;
import java.math.BigDecimal;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What pages are told of the types of views and commands. */
final class TypeScriptTest {

  record Everything(
      String text,
      int count,
      Long big,
      BigDecimal money,
      boolean yes,
      char letter,
      byte[] bytes,
      Instant at,
      Duration lasts,
      UUID id,
      DayOfWeek day,
      List<Set<String>> sets,
      int[] numbers,
      Map<UUID, Optional<Integer>> counts,
      Optional<String> maybe,
      @Nullable String nothing,
      @JsonProperty("with-hyphen") int renamed,
      Object whatever) {}

  sealed interface Shape {}

  record Circle(double radius) implements Shape {}

  record Square(double side) implements Shape {}

  record Tree(String name, List<Tree> branches) {}

  record Page<T>(List<T> items, Optional<String> next) {}

  record Note(String text, Optional<Instant> at) {}

  record Both(Note note) {}

  static final class Elsewhere {
    record Note(int number) {}
  }

  private static String types(LiveView<?>... views) {
    var types = new TypeScript();
    for (var view : views) {
      types.view(view);
    }
    return types.text();
  }

  private static LiveView<?> giving(ResultType<?> type) {
    return giving("it", type);
  }

  private static <R> LiveView<?> giving(String name, ResultType<R> type) {
    return LiveView.of(
        name,
        LiveView.NoParams.class,
        type,
        Authorisation.everyone(),
        none ->
            () -> {
              throw new IllegalStateException("not asked");
            });
  }

  private static void assertDeclares(String declaration, String text) {
    assertTrue(text.contains(declaration), text);
  }

  @Test
  void eachFieldHasTheTypeOfItsJson() {
    assertDeclares(
        """
        export interface Everything {
          text: string;
          count: number;
          big: number;
          money: number;
          yes: boolean;
          letter: string;
          bytes: string;
          at: string;
          lasts: string;
          id: string;
          day: DayOfWeek;
          sets: string[][];
          numbers: number[];
          counts: { [key: string]: number | null };
          maybe: string | null;
          nothing: string | null;
          "with-hyphen": number;
          whatever: unknown;
        }
        """,
        types(giving(new ResultType<Everything>() {})));
  }

  @Test
  void anEnumAndASealedInterfaceAreUnions() {
    var text =
        types(
            giving("days", new ResultType<List<DayOfWeek>>() {}),
            giving("shapes", new ResultType<Optional<Shape>>() {}));
    assertDeclares("export type DayOfWeek = \"MONDAY\" | \"TUESDAY\"", text);
    assertDeclares("export type Shape = Circle | Square;", text);
    assertDeclares("days: { params: Record<string, never>; result: DayOfWeek[] };", text);
    assertDeclares("shapes: { params: Record<string, never>; result: Shape | null };", text);
  }

  @Test
  void aTypeMayNameItselfAndHaveArguments() {
    var text = types(giving(new ResultType<Page<Tree>>() {}));
    assertDeclares("export interface PageTree {\n  items: Tree[];\n  next: string | null;\n", text);
    assertDeclares("export interface Tree {\n  name: string;\n  branches: Tree[];\n", text);
  }

  @Test
  void twoOfOneNameAreTwo() {
    var text =
        types(
            giving("first", new ResultType<Note>() {}),
            giving("second", new ResultType<Elsewhere.Note>() {}));
    assertDeclares("first: { params: Record<string, never>; result: Note };", text);
    assertDeclares("second: { params: Record<string, never>; result: ElsewhereNote };", text);
    assertDeclares("export interface ElsewhereNote {\n  number: number;\n}\n", text);
  }

  @Test
  void whatIsSentMayLackItsOptionals() {
    try (var node = EmbeddedNode.builder().start()) {
      var text =
          WebServer.builder(node)
              .view(giving(new ResultType<Both>() {}))
              .command("note", Both.class, Authorisation.everyone(), (caller, note) -> {})
              .commandWithResult(
                  "ask", Note.class, Authorisation.everyone(), (caller, note) -> Reply.text("?"))
              .commandWithResult(
                  "count-all",
                  LiveView.NoParams.class,
                  new ResultType<Integer>() {},
                  Authorisation.everyone(),
                  (caller, none) -> 1)
              .typeScript();
      assertDeclares("export interface Note {\n  text: string;\n  at: string | null;\n}\n", text);
      assertDeclares("export interface NoteSent {\n  text: string;\n  at?: string | null;\n", text);
      assertDeclares("note: { command: { note: NoteSent }; result: void };", text);
      assertDeclares(
          "ask: { command: { text: string; at?: string | null }; result: unknown };", text);
      assertDeclares("\"count-all\": { command: Record<string, never>; result: number };", text);
    }
  }

  @Test
  void aViewThatSaysNothingOfItsResultIsUnknown() {
    assertEquals(
        """
        // Made from the server's views and commands. Do not edit.
        import type {} from "@evergreen/client";

        declare module "@evergreen/client" {
          interface Views {
            plain: { params: Record<string, never>; result: unknown };
          }
          interface Commands {
          }
        }
        """,
        types(
            LiveView.of(
                "plain",
                LiveView.NoParams.class,
                Authorisation.everyone(),
                none -> () -> "anything")));
  }
}
