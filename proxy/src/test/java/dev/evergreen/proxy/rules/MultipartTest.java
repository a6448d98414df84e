package dev.evergreen.proxy.rules;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** RFC 9110 §14.6. */
class MultipartTest {

  @Test
  void partsAreFramed() {
    var body = "0123456789";
    var ranges = List.of(new ByteRange(0, 1), new ByteRange(8, 9));
    var multipart = new Multipart("B", "text/plain", 10, ranges);
    var answer = new StringBuilder();
    for (var range : ranges) {
      answer.append(new String(multipart.before(range), ISO_8859_1));
      answer.append(body, (int) range.first(), (int) range.last() + 1);
    }
    answer.append(new String(multipart.end(), ISO_8859_1));
    assertEquals(
        String.join(
            "\r\n",
            "--B",
            "Content-Type: text/plain",
            "Content-Range: bytes 0-1/10",
            "",
            "01",
            "--B",
            "Content-Type: text/plain",
            "Content-Range: bytes 8-9/10",
            "",
            "89",
            "--B--",
            ""),
        answer.toString());
    assertEquals(answer.length(), multipart.length());
    assertEquals("multipart/byteranges; boundary=B", multipart.contentType());
  }
}
