package dev.evergreen.shims.redis;

import dev.evergreen.tls.PemFiles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A certificate of an authority that the tests trust. */
final class Certificates {

  private Certificates() {}

  /** Makes one for this machine. */
  static PemFiles make(Path folder) throws IOException, InterruptedException {
    var script = Path.of("..", "scripts", "certificates").toString();
    var process = new ProcessBuilder(script, folder.toString(), "node").inheritIO().start();
    if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
      throw new IOException("the certificates could not be made");
    }
    return new PemFiles(
        folder.resolve("node.key"), folder.resolve("node.pem"), folder.resolve("authority.pem"));
  }

  /** Makes a connection by TLS. */
  static Socket dial(PemFiles files, int port) throws IOException {
    try {
      return files.load().getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port);
    } catch (java.security.GeneralSecurityException e) {
      throw new IOException(e);
    }
  }
}
