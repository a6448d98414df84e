package dev.evergreen.bench;

import java.io.IOException;

/** What clients may do to a memcached server that means harm to its others. */
enum MemcachedAttack implements Attack {
  SLOW_SENDERS("values that are half sent, then a byte a second", 32) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      int length = number % 3 == 0 ? 1_000_000 : number % 3 == 1 ? 100_000 : 9_000;
      talk.send("set slow%d 0 0 %d\r\n%s".formatted(number, length, "v".repeat(5_000)));
      while (true) {
        Thread.sleep(1_000);
        talk.send("v");
      }
    }
  },
  SLOW_READERS("values of 1 MB of which a byte a second is taken", 16) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(set("big" + number, 1_000_000) + ("get big" + number + "\r\n").repeat(10));
      talk.sip();
    }
  },
  DEAF("pipelines whose replies nobody takes", 64) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(set("medium", 7_000));
      while (true) {
        talk.send("get medium\r\n".repeat(1_000));
      }
    }
  },
  PIPELINES("pipelines of thousands of gets, whose replies are taken", 64) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(set("small", 200));
      talk.readAside();
      while (true) {
        talk.send("get small\r\n".repeat(8_500));
      }
    }
  },
  CONNECTS("connections that are closed at once", 4) {
    @Override
    public void attack(Talk talk, int number) throws IOException {
      talk.socket().setSoLinger(true, 0);
    }
  },
  HALF_COMMANDS("commands that come byte by byte and have no end", 1_000) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send("set half 0 0 ");
      while (true) {
        Thread.sleep(100);
        talk.send(" ");
      }
    }
  },
  ENDLESS_LINES("gets of one line without an end", 8) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send(set("k", 200) + "get");
      talk.readAside();
      while (true) {
        talk.send(" k".repeat(20_000));
      }
    }
  },
  GARBAGE("lines that are no commands", 8) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.readAside();
      while (true) {
        talk.send("no such command\r\n".repeat(4_000));
      }
    }
  },
  LARGE_VALUES("values of 1 MB stored and read without a pause", 8) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.readAside();
      while (true) {
        talk.send(set("large" + number, 1_000_000) + "get large" + number + "\r\n");
      }
    }
  },
  LISTS("lists of all keys", 4) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      while (true) {
        talk.send("lru_crawler metadump all\r\n");
        talk.readTo("END\r\n");
      }
    }
  },
  REPORTS("reports of statistics", 4) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.readAside();
      while (true) {
        talk.send("stats\r\nstats conns\r\nstats sizes\r\nstats settings\r\n".repeat(10));
      }
    }
  },
  WATCHERS("watchers that take nothing", 20) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send("watch fetchers mutations\r\n");
      Thread.sleep(Long.MAX_VALUE);
    }
  },
  IDLE("connections that do nothing", 5_000) {
    @Override
    public void attack(Talk talk, int number) throws Exception {
      talk.send("version\r\n");
      Thread.sleep(Long.MAX_VALUE);
    }
  };

  private final String description;
  private final int connections;

  MemcachedAttack(String description, int connections) {
    this.description = description;
    this.connections = connections;
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public int connections() {
    return connections;
  }

  private static String set(String key, int length) {
    return "set " + key + " 0 0 " + length + " noreply\r\n" + "x".repeat(length) + "\r\n";
  }
}
