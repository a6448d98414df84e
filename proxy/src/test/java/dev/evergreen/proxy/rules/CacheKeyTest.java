package dev.evergreen.proxy.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** RFC 9111 §2, RFC 9110 §4.2.3. */
class CacheKeyTest {

  @ParameterizedTest
  @CsvSource({
    "GET /a?b | Host: x, http://x/a?b",
    "GET /a?b | Host: X:80, http://x/a?b",
    "GET /a | Host: x:, http://x/a",
    "GET /a | Host: x:81, http://x:81/a",
    "GET http://Y/a | Host: x, http://y/a",
    "GET HTTP://y:80 | Host: x, http://y/",
    "GET http://y?b | Host: x, http://y/?b",
    "GET https://y:443/A | Host: x, https://y/A",
    "GET https://y:80/A | Host: x, https://y:80/A",
    "GET /%7Ea/../b | Host: x, http://x/%7Ea/../b",
    "GET /a | Host: [::1]:80, http://[::1]/a"
  })
  void aRequestHasOneKey(String request, String key) {
    assertEquals(key, CacheKey.of(Heads.request(request)));
  }

  @ParameterizedTest
  @CsvSource({
    "http://x/a?b, http://x/a?b",
    "HTTP://X:80/A, http://x/A",
    "http://x:/a, http://x/a",
    "https://X:443, https://x/",
    "https://x:80/a, https://x:80/a",
    "http://x?b, http://x/?b",
    "http://[::1]:80/a, http://[::1]/a",
    "x/a, ",
    "/a, ",
    "ftp://x/a, ",
    "http:///a, ",
    "http://, ",
    "http:/, ",
    "http://x/a b, ",
    "http://x/a#b, ",
    "'', "
  })
  void aWrittenUriHasTheKeyOfItsRequest(String uri, String key) {
    assertEquals(Optional.ofNullable(key), CacheKey.ofUri(uri));
  }

  @ParameterizedTest
  @CsvSource({
    "'', ''",
    "http, http",
    "HTTPS://, https://",
    "http://X, http://x",
    "http://x:8, http://x:8 http://x/",
    "http://X:80, http://x:80 http://x/",
    "http://x:, http://x: http://x/",
    "http://[::1]:80, http://[::1]:80 http://[::1]/",
    "http://[::8, http://[::8",
    "http://x:81, http://x:81",
    "https://x:80, https://x:80",
    "https://x:443, https://x:443 https://x/",
    "http://X:80/A, http://x/A",
    "https://X:443/, https://x/",
    "http://x?b, http://x/?b",
    "x/a, ",
    "/a, ",
    "ftp, ",
    "http:///a, ",
    "http://x/a b, "
  })
  void aWrittenPrefixIsThatOfKeys(String prefix, String keys) {
    var expected = keys == null ? List.of() : List.of(keys.split(" ", -1));
    assertEquals(expected, CacheKey.ofPrefix(prefix));
  }
}
