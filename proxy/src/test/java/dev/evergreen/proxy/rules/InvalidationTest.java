package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9111 §4.4, RFC 9875 §3. */
class InvalidationTest {
  private static final String KEY = "http://a/x/y";

  private static Invalidation of(String method, String response) {
    return Invalidation.of(Heads.request(method + " /x/y"), KEY, Heads.response(response));
  }

  @ParameterizedTest(name = "{0}: {1}")
  @CsvSource({
    "POST, 200, true",
    "PUT, 201, true",
    "DELETE, 204, true",
    "PATCH, 303, true",
    "BREW, 200, true",
    "POST, 400, false",
    "POST, 500, false",
    "GET, 200, false",
    "HEAD, 200, false",
    "OPTIONS, 200, false",
    "TRACE, 200, false"
  })
  void whatMayHaveChangedSomethingInvalidates(String method, String status, boolean expected) {
    assertEquals(expected ? Set.of(KEY) : Set.of(), of(method, status).keys());
  }

  @ParameterizedTest
  @CsvSource({
    "http://a/z, http://a/z",
    "http://A:80/z?q, http://a/z?q",
    "/z, http://a/z",
    "z, http://a/x/z",
    "//a/z, http://a/z",
    "?q, http://a/x/y?q",
    "../z, http://a/z",
    "../../z/./w/, http://a/z/w/",
    "z/.., http://a/x/",
    "., http://a/x/",
    "//a, http://a/",
    "/z?q#f, http://a/z?q",
    "/{z}^%zz, http://a/{z}^%zz",
    "HTTP://a/z, http://a/z",
    "http:z, ''",
    "http://me@a/z, ''",
    "http://b/z, ''",
    "https://a/z, ''",
    "http://a:81/z, ''",
    "//b/z, ''",
    "'http://a/ z', ''",
    "mailto:b, ''"
  })
  void placesOfTheSameOriginToo(String reference, String also) {
    var expected = also.isEmpty() ? Set.of(KEY) : Set.of(KEY, also);
    assertEquals(expected, of("POST", "201 | Location: " + reference).keys());
    assertEquals(expected, of("POST", "201 | Content-Location: " + reference).keys());
  }

  /** Whatever a request may ask for has places beside it. */
  @Test
  void aReferenceIsResolvedAlsoWhereTheUriIsNone() {
    var response = Heads.response("201 | Location: z");
    var request = Heads.request("POST /");
    var keys = Invalidation.of(request, "http://a/{x}|%/y?a/b", response).keys();
    assertEquals(Set.of("http://a/{x}|%/y?a/b", "http://a/{x}|%/z"), keys);
  }

  @Test
  void groupsAreInvalidatedByUnsafeMethodsOnly() {
    var response = "200 | Cache-Group-Invalidation: \"g\", \"h\"";
    assertEquals(List.of("g", "h"), of("POST", response).groups());
    assertEquals(List.of(), of("GET", response).groups());
  }
}
