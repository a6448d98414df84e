package dev.evergreen.shims.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.lettuce.core.RedisClient;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.Jedis;

/** Client libraries as they are: one connection for each caller, and one for all. */
@Timeout(60)
class ClientLibrariesTest {

  @Test
  void jedis() throws IOException {
    try (var shimmed = Shimmed.start();
        var jedis = new Jedis("127.0.0.1", shimmed.port());
        var other = new Jedis("127.0.0.1", shimmed.port())) {
      jedis.clientSetname("cart");
      jedis.select(3);
      jedis.set("k", "v");
      assertNull(other.get("k"));
      assertEquals("v", jedis.get("k"));
      try (var pipeline = jedis.pipelined()) {
        var first = pipeline.incr("n");
        var second = pipeline.incr("n");
        pipeline.sync();
        assertEquals(1, first.get());
        assertEquals(2, second.get());
      }
      jedis.watch("n");
      var transaction = jedis.multi();
      transaction.incr("n");
      other.select(3);
      other.incr("n");
      assertNull(transaction.exec());
      assertEquals("cart", jedis.clientGetname());
      other.rpush("list", "x");
      assertEquals(List.of("list", "x"), jedis.blpop(1, "list"));
    }
  }

  @Test
  void lettuce() throws IOException, InterruptedException {
    try (var shimmed = Shimmed.start();
        var client = RedisClient.create("redis://127.0.0.1:" + shimmed.port() + "/2");
        var connection = client.connect();
        var listening = client.connectPubSub()) {
      var commands = connection.sync();
      assertEquals("OK", commands.set("k", "v"));
      assertEquals("v", commands.get("k"));
      commands.multi();
      commands.incr("n");
      assertEquals(1L, commands.exec().<Long>get(0));
      BlockingQueue<String> messages = new LinkedBlockingQueue<>();
      listening.addListener(
          new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
              messages.add(channel + " " + message);
            }
          });
      listening.sync().subscribe("news");
      assertEquals(1, commands.publish("news", "here"));
      assertEquals("news here", messages.poll(20, TimeUnit.SECONDS));
    }
  }
}
