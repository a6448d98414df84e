package dev.evergreen.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.http.Origin;
import dev.evergreen.http.UpstreamVersion;
import dev.evergreen.proxy.storage.StorageOptions;
import dev.evergreen.tls.ClientTls;
import dev.evergreen.tls.PemFiles;
import dev.evergreen.tls.ServerTls;
import io.grpc.CallOptions;
import io.grpc.ClientInterceptors;
import io.grpc.Context;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Remote calls of gRPC's own client to gRPC's own server, through the proxy on both sides. */
@ParameterizedClass(name = "by TLS: {0}")
@ValueSource(booleans = {false, true})
@Timeout(60)
class GrpcTest {
  private static final InetSocketAddress ANYWHERE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  private static final MethodDescriptor<String, String> ONCE = method("Once", MethodType.UNARY);
  private static final MethodDescriptor<String, String> COUNT =
      method("Count", MethodType.SERVER_STREAMING);
  private static final MethodDescriptor<String, String> JOIN =
      method("Join", MethodType.CLIENT_STREAMING);
  private static final MethodDescriptor<String, String> ECHO =
      method("Echo", MethodType.BIDI_STREAMING);
  private static final MethodDescriptor<String, String> NEVER = method("Never", MethodType.UNARY);

  private static final Metadata.Key<String> ASKED = key("x-asked");
  private static final Metadata.Key<String> ANSWERED = key("x-answered");
  private static final Metadata.Key<String> ENDED = key("x-ended");

  @TempDir private static Path certificates;

  @Parameter private boolean secure;

  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch cancelled = new CountDownLatch(1);
  private Server server;
  private Proxy proxy;
  private ManagedChannel channel;

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  private static MethodDescriptor<String, String> method(String name, MethodType type) {
    return MethodDescriptor.<String, String>newBuilder(new Text(), new Text())
        .setType(type)
        .setFullMethodName(MethodDescriptor.generateFullMethodName("test.Calls", name))
        .build();
  }

  /** Messages that are texts. */
  private static final class Text implements MethodDescriptor.Marshaller<String> {
    @Override
    public InputStream stream(String value) {
      return new ByteArrayInputStream(value.getBytes(UTF_8));
    }

    @Override
    public String parse(InputStream stream) {
      try {
        return new String(stream.readAllBytes(), UTF_8);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  @BeforeAll
  static void makeCertificates() throws Exception {
    var script = Path.of("..", "scripts", "certificates").toString();
    var making = new ProcessBuilder(script, certificates.toString(), "localhost").inheritIO();
    assertEquals(0, making.start().waitFor());
  }

  @BeforeEach
  void start() throws Exception {
    var key = certificates.resolve("localhost.key");
    var certificate = certificates.resolve("localhost.pem");
    var authority = certificates.resolve("authority.pem");
    var builder = NettyServerBuilder.forAddress(ANYWHERE).addService(service()).intercept(told());
    if (secure) {
      builder.useTransportSecurity(certificate.toFile(), key.toFile());
    }
    server = builder.build().start();
    var settings =
        ProxySettings.DEFAULT
            .withAddresses(List.of(ANYWHERE))
            .withOrigins(List.of(new Origin(secure, "localhost", server.getPort())))
            .withProcessors(1)
            .withStorage(StorageOptions.memory(16 << 20));
    if (secure) {
      settings = settings.withOriginTls(ClientTls.trusting(authority));
      settings =
          settings.withTls(
              new ServerTls(
                  ServerTls.Settings.of(new PemFiles(key, certificate, null))
                      .withProtocols("h2", "http/1.1")));
    } else {
      settings = settings.withOriginVersion(UpstreamVersion.HTTP_2);
    }
    proxy = Proxy.start(settings);
    var connecting =
        NettyChannelBuilder.forAddress("localhost", proxy.addresses().getFirst().getPort());
    channel =
        secure
            ? connecting
                .sslContext(GrpcSslContexts.forClient().trustManager(authority.toFile()).build())
                .build()
            : connecting.usePlaintext().build();
  }

  @AfterEach
  void end() throws Exception {
    channel.shutdownNow();
    assertTrue(channel.awaitTermination(10, TimeUnit.SECONDS));
    proxy.close();
    server.shutdownNow();
    server.awaitTermination();
  }

  private ServerServiceDefinition service() {
    return ServerServiceDefinition.builder("test.Calls")
        .addMethod(ONCE, ServerCalls.asyncUnaryCall(GrpcTest::once))
        .addMethod(COUNT, ServerCalls.asyncServerStreamingCall(GrpcTest::count))
        .addMethod(JOIN, ServerCalls.asyncClientStreamingCall(GrpcTest::join))
        .addMethod(ECHO, ServerCalls.asyncBidiStreamingCall(this::echo))
        .addMethod(NEVER, ServerCalls.asyncUnaryCall(this::never))
        .build();
  }

  private static void once(String asked, StreamObserver<String> answer) {
    if (asked.equals("fail")) {
      answer.onError(Status.NOT_FOUND.withDescription("no such thing, 100 %").asException());
    } else {
      answer.onNext(asked.toUpperCase(Locale.ROOT));
      answer.onCompleted();
    }
  }

  private static void count(String to, StreamObserver<String> answer) {
    for (int i = 0; i < Integer.parseInt(to); i++) {
      answer.onNext("x".repeat(i));
    }
    answer.onCompleted();
  }

  private static StreamObserver<String> join(StreamObserver<String> answer) {
    var all = new StringBuilder();
    return new StreamObserver<>() {
      @Override
      public void onNext(String part) {
        all.append(part);
      }

      @Override
      public void onError(Throwable why) {}

      @Override
      public void onCompleted() {
        answer.onNext(all.toString());
        answer.onCompleted();
      }
    };
  }

  private StreamObserver<String> echo(StreamObserver<String> answer) {
    return new StreamObserver<>() {
      @Override
      public void onNext(String part) {
        answer.onNext(part);
      }

      @Override
      public void onError(Throwable why) {
        cancelled.countDown();
      }

      @Override
      public void onCompleted() {
        answer.onCompleted();
      }
    };
  }

  private void never(String asked, StreamObserver<String> answer) {
    ((ServerCallStreamObserver<String>) answer).setOnCancelHandler(cancelled::countDown);
    assertNotNull(Context.current().getDeadline(), "grpc-timeout has come");
    begun.countDown();
  }

  /** Says before and behind each answer what it was told by the client. */
  private static ServerInterceptor told() {
    return new ServerInterceptor() {
      @Override
      public <A, B> ServerCall.Listener<A> interceptCall(
          ServerCall<A, B> call, Metadata asked, ServerCallHandler<A, B> next) {
        var said = String.valueOf(asked.get(ASKED));
        var telling =
            new SimpleForwardingServerCall<A, B>(call) {
              @Override
              public void sendHeaders(Metadata headers) {
                headers.put(ANSWERED, said);
                super.sendHeaders(headers);
              }

              @Override
              public void close(Status status, Metadata trailers) {
                trailers.put(ENDED, said);
                super.close(status, trailers);
              }
            };
        return next.startCall(telling, asked);
      }
    };
  }

  private String ask(String what) {
    return ClientCalls.blockingUnaryCall(channel, ONCE, CallOptions.DEFAULT, what);
  }

  /** What comes to a client, in order: texts, and then the end. */
  private static final class Received implements StreamObserver<String> {
    private final BlockingQueue<String> all = new LinkedBlockingQueue<>();

    @Override
    public void onNext(String part) {
      all.add(part);
    }

    @Override
    public void onError(Throwable why) {
      all.add(Status.fromThrowable(why).getCode().toString());
    }

    @Override
    public void onCompleted() {
      all.add("OK");
    }

    String next() throws InterruptedException {
      return all.take();
    }
  }

  @Test
  void oneAnswersOne() {
    assertEquals("HELLO", ask("hello"));
    assertEquals("X".repeat(3_000_000), ask("x".repeat(3_000_000)));
    assertEquals("", ask(""));
  }

  @Test
  void metadataGoBothWaysBeforeAndBehindTheAnswer() {
    var asked = new Metadata();
    asked.put(ASKED, "something");
    var headers = new AtomicReference<Metadata>();
    var trailers = new AtomicReference<Metadata>();
    var telling =
        ClientInterceptors.intercept(
            channel,
            MetadataUtils.newAttachHeadersInterceptor(asked),
            MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));
    assertEquals("A", ClientCalls.blockingUnaryCall(telling, ONCE, CallOptions.DEFAULT, "a"));
    assertEquals("something", some(headers.get()).get(ANSWERED));
    assertEquals("something", some(trailers.get()).get(ENDED));
  }

  @Test
  void aFailureComesAsItIs() {
    var failure = assertThrows(StatusRuntimeException.class, () -> ask("fail"));
    assertEquals(Status.Code.NOT_FOUND, failure.getStatus().getCode());
    assertEquals("no such thing, 100 %", failure.getStatus().getDescription());
    assertEquals("null", some(failure.getTrailers()).get(ENDED));
    assertEquals("A", ask("a"), "the connection goes on");
  }

  private static Metadata some(@Nullable Metadata metadata) {
    return Objects.requireNonNull(metadata);
  }

  @Test
  void anUnknownMethodIsUnimplemented() {
    var unknown = method("Unknown", MethodType.UNARY);
    var failure =
        assertThrows(
            StatusRuntimeException.class,
            () -> ClientCalls.blockingUnaryCall(channel, unknown, CallOptions.DEFAULT, "a"));
    assertEquals(Status.Code.UNIMPLEMENTED, failure.getStatus().getCode());
  }

  @Test
  void manyAnswerOne() {
    var answers =
        ClientCalls.blockingServerStreamingCall(channel, COUNT, CallOptions.DEFAULT, "2000");
    int number = 0;
    while (answers.hasNext()) {
      assertEquals(number++, answers.next().length());
    }
    assertEquals(2000, number);
  }

  @Test
  void oneAnswersMany() throws Exception {
    var received = new Received();
    var sender =
        ClientCalls.asyncClientStreamingCall(channel.newCall(JOIN, CallOptions.DEFAULT), received);
    for (int i = 0; i < 1000; i++) {
      sender.onNext("part" + i);
    }
    sender.onCompleted();
    var answer = received.next();
    assertTrue(answer.startsWith("part0part1part2") && answer.endsWith("part998part999"), answer);
    assertEquals("OK", received.next());
  }

  @Test
  void bothTalkInTurns() throws Exception {
    var received = new Received();
    var sender =
        ClientCalls.asyncBidiStreamingCall(channel.newCall(ECHO, CallOptions.DEFAULT), received);
    for (int i = 0; i < 300; i++) {
      sender.onNext("turn" + i);
      assertEquals("turn" + i, received.next());
    }
    sender.onCompleted();
    assertEquals("OK", received.next());
  }

  @Test
  void aCallThatIsCancelledIsCancelledAtTheServer() throws Exception {
    var received = new Received();
    var call = channel.newCall(ECHO, CallOptions.DEFAULT);
    var sender = ClientCalls.asyncBidiStreamingCall(call, received);
    sender.onNext("a");
    assertEquals("a", received.next());
    call.cancel("not wanted any more", null);
    assertEquals("CANCELLED", received.next());
    cancelled.await();
    assertEquals("A", ask("a"), "the connection goes on");
  }

  @Test
  void aCallThatTakesTooLongEndsOnBothSides() throws Exception {
    // On a busy machine it may be over before the server has seen it.
    for (int millis = 200; begun.getCount() > 0; millis *= 2) {
      var options = CallOptions.DEFAULT.withDeadlineAfter(millis, TimeUnit.MILLISECONDS);
      var failure =
          assertThrows(
              StatusRuntimeException.class,
              () -> ClientCalls.blockingUnaryCall(channel, NEVER, options, "a"));
      assertEquals(Status.Code.DEADLINE_EXCEEDED, failure.getStatus().getCode());
    }
    cancelled.await();
  }

  @Test
  void moreAreUnderWayThanOneConnectionTakes() throws Exception {
    var calls = new ArrayList<StreamObserver<String>>();
    var received = new Received();
    for (int i = 0; i < 250; i++) {
      var call =
          ClientCalls.asyncBidiStreamingCall(channel.newCall(ECHO, CallOptions.DEFAULT), received);
      call.onNext("begun");
      calls.add(call);
    }
    for (int i = 0; i < 100; i++) {
      assertEquals("begun", received.next());
    }
    calls.forEach(StreamObserver::onCompleted);
    int ended = 0;
    for (int i = 100; i < 500; i++) {
      var next = received.next();
      assertTrue(next.equals("begun") || next.equals("OK"), next);
      ended += next.equals("OK") ? 1 : 0;
    }
    assertEquals(250, ended);
  }
}
