package dev.evergreen.proxy;

import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.Locale;

/** How a transaction is told by one line of an access log. */
public enum LogFormat {
  /** The format that web servers have always had (NCSA common). */
  COMMON {
    @Override
    public String line(Course course) {
      return course.client()
          + " - - ["
          + TIME.format(course.start())
          + "] \""
          + safe(course.method() + " " + course.target() + " " + course.version())
          + "\" "
          + course.status()
          + " "
          + (course.bytes() == 0 ? "-" : Long.toString(course.bytes()));
    }
  },

  /** The same with Referer and User-Agent. */
  COMBINED {
    @Override
    public String line(Course course) {
      return COMMON.line(course)
          + " \""
          + safe(course.referer())
          + "\" \""
          + safe(course.agent())
          + "\"";
    }
  },

  /** All that is known, as an object of JSON. */
  JSON {
    @Override
    public String line(Course course) {
      var all = new LinkedHashMap<String, Object>();
      all.put("time", course.start().toString());
      all.put("client", course.client());
      all.put("method", course.method());
      all.put("host", course.host());
      all.put("target", course.target());
      all.put("version", course.version());
      all.put("status", course.status());
      all.put("bytes", course.bytes());
      all.put("micros", course.micros());
      var cache = course.cache();
      if (cache != null) {
        all.put("cache", cache.toString());
      }
      var failure = course.failure();
      if (failure != null) {
        all.put("failure", failure);
      }
      all.put("referer", course.referer());
      all.put("agent", course.agent());
      return Json.of(all);
    }
  };

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss Z", Locale.ROOT)
          .withZone(ZoneId.systemDefault());

  /** A transaction's line, without its end. */
  public abstract String line(Course course);

  /**
   * What a client chose must neither end the line nor a quoted text, nor move a terminal's cursor.
   */
  static String safe(String text) {
    StringBuilder changed = null;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < ' ' || c == '"' || c == '\\' || c >= 0x7F) {
        if (changed == null) {
          changed = new StringBuilder(text.substring(0, i));
        }
        changed.append(String.format("\\x%02x", (int) c));
      } else if (changed != null) {
        changed.append(c);
      }
    }
    return changed == null ? text : changed.toString();
  }
}
