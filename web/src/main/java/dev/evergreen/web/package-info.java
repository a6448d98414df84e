/**
 * Live results in the browser.
 *
 * <p>A {@link dev.evergreen.web.WebServer} serves declared {@linkplain dev.evergreen.web.LiveView
 * live views}: results that are computed once in the process, however many look at them, and pushed
 * to every browser that does, over WebSocket or server-sent events. The same view answers a plain
 * GET with an ETag. Writes come in as {@linkplain dev.evergreen.web.WebServer.Builder#command
 * commands}. The messages are described in {@code docs/web-protocol.md}; the JavaScript side is
 * {@code @evergreen/client}.
 *
 * <pre>{@code
 * record TimelineParams(String user, Optional<Integer> limit) {}
 * record Post(String text) {}
 * record SignIn(String name) {}
 *
 * var users = node.grains();
 * var sessions = SignedSessions.withRandomKey(users, Duration.ofDays(7));
 *
 * var server =
 *     WebServer.builder(node)
 *         .port(8080)
 *         .authenticator(sessions)
 *         .view(
 *             LiveView.of(
 *                 "timeline",
 *                 TimelineParams.class,
 *                 Authorisation.everyone(),
 *                 params -> () -> users.get(User.class, params.user()).timeline()))
 *         .view(
 *             LiveView.perCaller(
 *                 "home",
 *                 LiveView.NoParams.class,
 *                 Authorisation.signedIn(),
 *                 (caller, params) -> () -> users.get(User.class, caller.name()).timeline()))
 *         .command(
 *             "post",
 *             Post.class,
 *             Authorisation.signedIn(),
 *             (caller, post) -> users.get(User.class, caller.name()).post(post.text()))
 *         .commandWithResult(
 *             "sign-in",
 *             SignIn.class,
 *             Authorisation.everyone(),
 *             (caller, signIn) -> sessions.signIn(signIn.name()))
 *         .route("POST", "/sign-out", sessions::signOut)
 *         .staticResources("/", Main.class, "/public")
 *         .start();
 * }</pre>
 *
 * <p>Then {@code GET /live/timeline?user=alice} is the present result, the same address with {@code
 * Accept: text/event-stream} is the live one, {@code /live} is the WebSocket for many views at
 * once, and {@code POST /commands/post} with {@code {"text": "…"}} posts.
 *
 * <p><b>How it works.</b> A {@code WatchedView} follows one reactive computation on a virtual
 * thread, turns each result into JSON once and tells its subscribers only <em>that</em> there is
 * something new. A {@code LiveConnection} keeps the set of subscriptions with news; a virtual
 * thread that lives while there is something to write takes them out one by one, reads the latest
 * result and writes the shared bytes. So what a connection can hold is bounded by its
 * subscriptions, a slow reader skips results, and an idle one holds neither a thread nor a buffer.
 * A {@code Watchdog} cuts what has stalled, gone silent, or drips. Who can starve or fool whom, and
 * why not, is in {@code docs/architecture.md}.
 *
 * <p><b>Why Jetty.</b> Jetty 12.1 and Helidon 4.3 both run handlers on virtual threads and are well
 * kept. In Helidon a connection is a blocked thread with a read buffer of 8 KB, its WebSocket sends
 * block without a limit, and the socket beneath cannot be reached to end a send that is stuck. In
 * Jetty a waiting connection is a registration with a selector: its buffers go back to a pool (4 KB
 * of heap for each of 5,000 WebSockets, all of ours included). Writes end with a callback, take
 * shared buffers without copying, and are undone by closing the end point. Its parsers have met
 * hostile input for decades, and limits of header sizes and idle times are settings. The module
 * uses Jetty's core WebSocket interface, because the one above it sends strings only, which would
 * encode a result once for each browser. TLS and HTTP/2 are left to a proxy in front.
 */
@NullMarked
package dev.evergreen.web;

import org.jspecify.annotations.NullMarked;
