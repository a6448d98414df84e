package dev.evergreen.proxy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.RequestHead;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** An access log whose file takes nothing for a while. */
@Timeout(60)
class AccessLogTest {
  @TempDir private Path folder;

  private static Course course(String target) {
    var course = new Course(0, false);
    course.of(RequestHead.of("GET", target), InetAddress.getLoopbackAddress());
    return course;
  }

  /**
   * Seen: its thread ended with the first failure, and when its queue was full, nothing could be
   * closed any more.
   */
  @Test
  @EnabledOnOs(OS.LINUX)
  void afterAFullDiskItGoesOnAndEnds() throws Exception {
    var file = folder.resolve("log");
    Files.createSymbolicLink(file, Path.of("/dev/full"));
    var told = new CountDownLatch(1);
    var logger = Logger.getLogger(AccessLog.class.getName());
    logger.setFilter(
        _ -> {
          told.countDown();
          return false;
        });
    try (var log = new AccessLog(file, LogFormat.COMMON)) {
      log.write(course("/lost"));
      told.await();
      Files.delete(file);
      log.reopen();
      log.write(course("/kept"));
    } finally {
      logger.setFilter(null);
    }
    var lines = Files.readAllLines(file);
    assertEquals(1, lines.size());
    assertTrue(lines.getFirst().contains("GET /kept "), lines.getFirst());
  }
}
