package dev.evergreen.memcached;

import dev.evergreen.fibers.Buffers;
import dev.evergreen.store.Store;
import dev.evergreen.tls.ServerTls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The replies to {@code stats}, by the names that exporters and clients read. What has no meaning
 * here is 0, as readers insist on it: of slabs, of cold items, of what never fails here. All items
 * are of one class, 1. Hot ones are those that the store calls new, warm ones those that are
 * proven; its pages are the store's segments.
 *
 * <p>A report is told as it is made: some are long, and nobody but their clients would bound how
 * many of them lie in memory.
 */
final class StatsReport {
  private static final int CLOCK_TICKS = 100;

  /** An epoll, an eventfd and an io_uring. */
  private static final int DESCRIPTORS_OF_PROCESSOR = 3;

  /** The share of memory beyond which new items are evicted before proven ones. */
  private static final int HOT_PERCENT = (int) Math.round(100 * Store.SHARE_OF_NEW);

  /** Who is told what a report says. */
  interface Reader {
    /** The next line. */
    void stat(String name, String value) throws IOException;
  }

  private final MemcachedServer server;
  private final Reader reader;

  private StatsReport(MemcachedServer server, Reader reader) {
    this.server = server;
    this.reader = reader;
  }

  /** Tells the report of this name, the general one without a name; false if none has it. */
  static boolean tell(MemcachedServer server, String name, Reader reader) throws IOException {
    var report = new StatsReport(server, reader);
    switch (name) {
      case "" -> report.general();
      case "settings" -> report.settings();
      case "items" -> report.items();
      case "slabs" -> report.slabs();
      // memcached answers so unless it was started with an option to count sizes.
      case "sizes", "sizes_enable", "sizes_disable" -> report.stat("sizes_status", "disabled");
      case "extstore" -> {
        // There is none, of which nothing is told.
      }
      case "conns" -> report.connectionList();
      default -> {
        return false;
      }
    }
    return true;
  }

  private StatsReport stat(String name, Object value) throws IOException {
    reader.stat(name, value.toString());
    return this;
  }

  private void general() throws IOException {
    process();
    connections();
    commands();
    memory();
  }

  private void process() throws IOException {
    var times = processorTimes();
    stat("pid", ProcessHandle.current().pid())
        .stat("uptime", server.clock.uptime())
        .stat("time", System.currentTimeMillis() / 1000)
        .stat("version", MemcachedServer.PROTOCOL_VERSION)
        .stat("libevent", "none")
        .stat("pointer_size", 64)
        .stat("rusage_user", seconds(times[0]))
        .stat("rusage_system", seconds(times[1]));
  }

  /** The microseconds that this process has used, by itself and in the system. */
  private static long[] processorTimes() {
    try {
      var stat = Files.readString(Path.of("/proc/self/stat"));
      var fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
      long tick = TimeUnit.SECONDS.toMicros(1) / CLOCK_TICKS;
      return new long[] {Long.parseLong(fields[11]) * tick, Long.parseLong(fields[12]) * tick};
    } catch (IOException e) {
      var all = ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO);
      return new long[] {all.toNanos() / 1000, 0};
    }
  }

  private static String seconds(long micros) {
    return "%d.%06d".formatted(micros / 1_000_000, micros % 1_000_000);
  }

  private void connections() throws IOException {
    var counts = server.statistics;
    stat("max_connections", server.settings.connections)
        .stat("curr_connections", server.limit.served())
        .stat("total_connections", counts.totalConnections)
        .stat("rejected_connections", counts.rejectedConnections)
        .stat("connection_structures", server.sessions.size())
        .stat("response_obj_oom", server.blockedWriters.hungUp())
        .stat("response_obj_count", server.blockedWriters.count())
        .stat("response_obj_bytes", (long) server.blockedWriters.count() * Buffers.SIZE)
        .stat("read_buf_count", server.valueHolders.count())
        .stat("read_buf_bytes", server.store.stats().heldBytes())
        .stat("read_buf_bytes_free", 0)
        .stat("read_buf_oom", server.valueHolders.hungUp())
        .stat("reserved_fds", DESCRIPTORS_OF_PROCESSOR * server.settings.processors)
        .stat("idle_kicks", counts.idleKicks);
  }

  private void commands() throws IOException {
    var counts = server.statistics;
    var store = server.store.stats();
    stat("cmd_get", counts.getHits.sum() + counts.getMisses.sum())
        .stat("cmd_set", counts.sets)
        .stat("cmd_flush", counts.flushes)
        .stat("cmd_touch", counts.touchHits.sum() + counts.touchMisses.sum())
        .stat("cmd_meta", counts.metas)
        .stat("get_hits", counts.getHits)
        .stat("get_misses", counts.getMisses)
        .stat("get_expired", store.missesExpired())
        .stat("get_flushed", store.missesFlushed())
        .stat("delete_misses", counts.deleteMisses)
        .stat("delete_hits", counts.deleteHits)
        .stat("incr_misses", counts.incrementMisses)
        .stat("incr_hits", counts.incrementHits)
        .stat("decr_misses", counts.decrementMisses)
        .stat("decr_hits", counts.decrementHits)
        .stat("cas_misses", counts.casMisses)
        .stat("cas_hits", counts.casHits)
        .stat("cas_badval", counts.casBadValues)
        .stat("touch_hits", counts.touchHits)
        .stat("touch_misses", counts.touchMisses)
        .stat("store_too_large", counts.tooLarge)
        .stat("store_no_memory", counts.noMemory)
        .stat("auth_cmds", counts.authentications)
        .stat("auth_errors", counts.authenticationErrors);
    if (server.tls != null) {
      stat("ssl_handshake_errors", counts.handshakeErrors)
          .stat("time_since_server_cert_refresh", server.tls.age().toSeconds());
    }
    stat("bytes_read", counts.read).stat("bytes_written", counts.written);
  }

  private void memory() throws IOException {
    var store = server.store.stats();
    var upkeep = server.store.upkeep();
    stat("limit_maxbytes", store.limit())
        .stat("accepting_conns", 1)
        .stat("listen_disabled_num", 0)
        .stat("time_in_listen_disabled_us", 0)
        .stat("threads", server.settings.processors)
        .stat("conn_yields", server.statistics.yields)
        .stat("hash_power_level", Long.SIZE - 1 - Long.numberOfLeadingZeros(server.store.buckets()))
        .stat("hash_bytes", store.indexBytes())
        .stat("hash_is_expanding", 0)
        .stat("slab_reassign_rescues", upkeep.compactedItems())
        .stat("slab_reassign_chunk_rescues", 0)
        .stat("slab_reassign_evictions_nomem", 0)
        .stat("slab_reassign_inline_reclaim", 0)
        .stat("slab_reassign_busy_items", 0)
        .stat("slab_reassign_busy_deletes", 0)
        .stat("slab_reassign_running", 0)
        .stat("slabs_moved", upkeep.compactions())
        .stat("lru_crawler_running", 0)
        .stat("lru_crawler_starts", upkeep.sweeps())
        .stat("lru_maintainer_juggles", upkeep.rounds())
        .stat("malloc_fails", 0)
        .stat("log_worker_dropped", 0)
        .stat("log_worker_written", server.watchers.told())
        .stat("log_watcher_skipped", server.watchers.skipped())
        .stat("log_watcher_sent", server.watchers.sent())
        .stat("log_watchers", server.watchers.count())
        .stat("unexpected_napi_ids", 0)
        .stat("round_robin_fallback", 0)
        .stat("bytes", store.bytes())
        .stat("curr_items", store.items())
        .stat("total_items", store.totalItems())
        .stat("slab_global_page_pool", 0)
        .stat("expired_unfetched", store.expiredUnfetched())
        .stat("evicted_unfetched", store.evictedUnfetched())
        .stat("evicted_active", upkeep.evictedActive())
        .stat("evictions", store.evictions())
        .stat("reclaimed", store.reclaimed())
        .stat("crawler_reclaimed", upkeep.sweptReclaimed())
        .stat("crawler_items_checked", upkeep.sweptItems())
        .stat("lrutail_reflocked", 0)
        .stat("moves_to_cold", 0)
        .stat("moves_to_warm", upkeep.proven())
        .stat("moves_within_lru", upkeep.provenAgain())
        .stat("direct_reclaims", upkeep.directReclaims())
        .stat("lru_bumps_dropped", 0)
        .stat("memory_in_use", store.memory())
        .stat("memory_held", store.heldBytes())
        .stat("memory_moved", store.movedBytes())
        .stat("live_keys", server.live == null ? 0 : server.live.size());
  }

  private void settings() throws IOException {
    var settings = server.settings;
    var address = server.addresses().getFirst();
    int port = address instanceof InetSocketAddress inet ? inet.getPort() : 0;
    stat("maxbytes", server.store.stats().limit())
        .stat("maxconns", settings.connections)
        .stat("tcpport", port)
        .stat("udpport", 0)
        .stat("inter", address instanceof InetSocketAddress inet ? inet.getHostString() : "NULL")
        .stat("verbosity", server.verbosity)
        .stat("oldest", 0)
        .stat("evictions", onOff(settings.evicts))
        .stat("domain_socket", settings.unixSocket == null ? "NULL" : settings.unixSocket)
        .stat("umask", Integer.toOctalString(settings.unixMask))
        .stat("num_threads", settings.processors)
        .stat("stat_key_prefix", settings.prefixDelimiter)
        .stat("detail_enabled", yesNo(server.details.enabled()))
        .stat("reqs_per_event", settings.requestsPerTurn)
        .stat("cas_enabled", yesNo(settings.cas))
        .stat("tcp_backlog", settings.backlog)
        .stat("binding_protocol", protocols())
        .stat("auth_enabled_sasl", "no")
        .stat("auth_enabled_ascii", settings.authFile == null ? "no" : settings.authFile)
        .stat("item_size_max", settings.itemLimit)
        .stat("maxconns_fast", "yes")
        .stat("slab_reassign", "no")
        .stat("slab_automove", 0)
        .stat("lru_crawler", "yes")
        .stat("lru_crawler_sleep", 0)
        .stat("lru_crawler_tocrawl", 0)
        .stat("lru_maintainer_thread", "yes")
        .stat("lru_segmented", "yes")
        .stat("hot_lru_pct", HOT_PERCENT)
        .stat("warm_lru_pct", 100 - HOT_PERCENT)
        // Nothing moves because of its age.
        .stat("hot_max_factor", "0.00")
        .stat("warm_max_factor", "0.00")
        .stat("temp_lru", "no")
        .stat("temporary_ttl", 0)
        .stat("tail_repair_time", 0)
        .stat("track_sizes", "no")
        .stat("inline_ascii_response", "no")
        .stat("read_buf_mem_limit", 0)
        .stat("num_threads_per_udp", 0)
        .stat("num_napi_ids", "(null)")
        .stat("memory_file", "(null)")
        .stat("flush_enabled", yesNo(settings.flushes))
        .stat("dump_enabled", yesNo(settings.dumps))
        .stat("watch_enabled", yesNo(settings.watches))
        .stat("shutdown_command", yesNo(settings.shutsDown))
        .stat("idle_timeout", settings.idleTimeout.toSeconds())
        .stat("ssl_enabled", yesNo(settings.tls != null));
    if (settings.tls != null) {
      tls(settings.tls);
    }
  }

  private String protocols() {
    var settings = server.settings;
    // Accounts are those of the text protocol.
    boolean binary = settings.speaksBinary && !server.authentication.isRequired();
    return !binary ? "ascii" : settings.speaksText ? "auto-negotiate" : "binary";
  }

  private void tls(ServerTls.Settings tls) throws IOException {
    var files = tls.certificates().getFirst();
    var authority = files.authority();
    // memcached shows the bits of its library's modes, not the number that was given.
    int mode =
        switch (tls.clients()) {
          case ANONYMOUS -> 0;
          case WANTED -> 1;
          case REQUIRED -> 3;
        };
    stat("ssl_chain_cert", files.certificates())
        .stat("ssl_key", files.key())
        .stat("ssl_verify_mode", mode)
        .stat("ssl_keyformat", 1)
        .stat("ssl_ciphers", "NULL")
        .stat("ssl_ca_cert", authority == null ? "NULL" : authority)
        .stat("ssl_wbuf_size", Buffers.SIZE)
        .stat("ssl_session_cache", "no")
        .stat("ssl_kernel_tls", "no")
        .stat("ssl_min_version", tls.least() == ServerTls.Version.TLS_1_2 ? "tlsv1.2" : "tlsv1.3");
  }

  private static String yesNo(boolean is) {
    return is ? "yes" : "no";
  }

  private static String onOff(boolean is) {
    return is ? "on" : "off";
  }

  private void items() throws IOException {
    var store = server.store.stats();
    var upkeep = server.store.upkeep();
    var queues = server.store.queues();
    // They are counted at different moments.
    long warm = Math.clamp(queues.provenItems(), 0, store.items());
    if (store.items() > 0) {
      stat("items:1:number", store.items())
          .stat("items:1:number_hot", store.items() - warm)
          .stat("items:1:number_warm", warm)
          .stat("items:1:number_cold", 0)
          .stat("items:1:age_hot", queues.newSeconds())
          .stat("items:1:age_warm", queues.provenSeconds())
          .stat("items:1:age", Math.max(queues.newSeconds(), queues.provenSeconds()))
          .stat("items:1:mem_requested", store.bytes())
          .stat("items:1:evicted", store.evictions())
          .stat("items:1:evicted_nonzero", upkeep.evictedExpiring())
          .stat("items:1:evicted_time", upkeep.evictedIdle())
          .stat("items:1:outofmemory", server.statistics.noMemory)
          .stat("items:1:tailrepairs", 0)
          .stat("items:1:reclaimed", store.reclaimed())
          .stat("items:1:expired_unfetched", store.expiredUnfetched())
          .stat("items:1:evicted_unfetched", store.evictedUnfetched())
          .stat("items:1:evicted_active", upkeep.evictedActive())
          .stat("items:1:crawler_reclaimed", upkeep.sweptReclaimed())
          .stat("items:1:crawler_items_checked", upkeep.sweptItems())
          .stat("items:1:lrutail_reflocked", 0)
          .stat("items:1:moves_to_cold", 0)
          .stat("items:1:moves_to_warm", upkeep.proven())
          .stat("items:1:moves_within_lru", upkeep.provenAgain())
          .stat("items:1:direct_reclaims", upkeep.directReclaims())
          .stat("items:1:hits_to_hot", queues.newHits())
          .stat("items:1:hits_to_warm", queues.provenHits())
          .stat("items:1:hits_to_cold", 0)
          .stat("items:1:hits_to_temp", 0);
    }
  }

  private void slabs() throws IOException {
    var store = server.store.stats();
    var counts = server.statistics;
    if (store.items() > 0) {
      stat("1:chunk_size", 0)
          .stat("1:chunks_per_page", 0)
          .stat("1:total_pages", server.store.queues().segments())
          .stat("1:total_chunks", store.items())
          .stat("1:used_chunks", store.items())
          .stat("1:free_chunks", 0)
          .stat("1:free_chunks_end", 0)
          .stat("1:mem_requested", store.bytes())
          .stat("1:get_hits", counts.getHits)
          .stat("1:cmd_set", counts.sets)
          .stat("1:delete_hits", counts.deleteHits)
          .stat("1:incr_hits", counts.incrementHits)
          .stat("1:decr_hits", counts.decrementHits)
          .stat("1:cas_hits", counts.casHits)
          .stat("1:cas_badval", counts.casBadValues)
          .stat("1:touch_hits", counts.touchHits);
    }
    stat("active_slabs", store.items() > 0 ? 1 : 0).stat("total_malloced", store.memory());
  }

  private void connectionList() throws IOException {
    int listener = 0;
    for (var address : server.addresses()) {
      var prefix = ++listener + ":";
      stat(prefix + "addr", show(address))
          .stat(prefix + "state", "conn_listening")
          .stat(prefix + "secs_since_last_cmd", server.clock.uptime());
    }
    for (var session : server.sessions.values()) {
      String address;
      String local;
      try {
        address = show(session.connection.peerAddress());
        local = show(session.connection.localAddress());
      } catch (IOException ignored) {
        // It was closed meanwhile; the others are still worth telling.
        continue;
      }
      var prefix = session.number + ":";
      stat(prefix + "addr", address)
          .stat(prefix + "listen_addr", local)
          .stat(prefix + "state", session.state())
          .stat(prefix + "secs_since_last_cmd", session.in.secondsAtRest());
    }
  }

  private static String show(SocketAddress address) {
    return switch (address) {
      case InetSocketAddress inet ->
          "tcp:" + inet.getAddress().getHostAddress() + ":" + inet.getPort();
      case UnixDomainSocketAddress unix -> "unix:" + unix.getPath();
      default -> address.toString();
    };
  }
}
