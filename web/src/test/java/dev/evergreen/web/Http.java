package dev.evergreen.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** Plain requests to a server under test. */
final class Http {

  private static final HttpClient CLIENT = HttpClient.newHttpClient();
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Http() {}

  static HttpResponse<String> get(WebServer server, String path, String... headers) {
    return send(request(server, path, headers).build());
  }

  static HttpResponse<String> post(WebServer server, String path, String body, String... headers) {
    return send(
        request(server, path, headers)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build());
  }

  static HttpRequest.Builder request(WebServer server, String path, String... headers) {
    var builder = HttpRequest.newBuilder(URI.create(server.uri() + path.substring(1)));
    return headers.length == 0 ? builder : builder.headers(headers);
  }

  static HttpResponse<String> send(HttpRequest request) {
    try {
      return CLIENT.send(request, BodyHandlers.ofString());
    } catch (IOException e) {
      throw new AssertionError(request + ": " + e, e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  static JsonNode json(HttpResponse<String> response) {
    try {
      return MAPPER.readTree(response.body());
    } catch (IOException e) {
      throw new AssertionError(response.body(), e);
    }
  }

  static String header(HttpResponse<?> response, String name) {
    return response.headers().firstValue(name).orElse("");
  }
}
