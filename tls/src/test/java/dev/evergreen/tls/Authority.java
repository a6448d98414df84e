package dev.evergreen.tls;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** An authority in a folder of its own, made with OpenSSL. */
final class Authority {

  private static final String SETTINGS =
      """
      [ca]
      default_ca=authority
      [authority]
      database=index
      new_certs_dir=.
      rand_serial=yes
      unique_subject=no
      default_md=sha256
      default_days=30
      default_crl_days=30
      policy=policy
      [policy]
      commonName=supplied
      [authorities]
      basicConstraints=critical,CA:true
      keyUsage=critical,keyCertSign,cRLSign
      [hosts]
      basicConstraints=critical,CA:false
      subjectAltName=DNS:$ENV::NAME,DNS:*.$ENV::NAME
      """;

  private final Path folder;

  private Authority(Path folder) throws IOException {
    this.folder = folder;
    Files.createDirectories(folder);
    Files.createFile(folder.resolve("index"));
    Files.writeString(folder.resolve("settings"), SETTINGS);
  }

  /** One that signs for itself. */
  static Authority root(Path folder) throws IOException {
    var made = new Authority(folder);
    made.key("authority", "EC -pkeyopt ec_paramgen_curve:P-256");
    made.openssl(
        "authority",
        "req -x509 -config settings -extensions authorities -key authority.key -subj /CN=root"
            + " -out authority.pem");
    return made;
  }

  /** One that another one vouches for. */
  Authority intermediate(String name) throws IOException {
    var made = new Authority(folder.resolve(name));
    made.key("authority", "EC -pkeyopt ec_paramgen_curve:P-256");
    made.request("authority", name);
    openssl(
        name,
        "ca -batch -notext -config settings -keyfile authority.key -cert authority.pem"
            + " -extensions authorities -in %1$s/authority.csr -out %1$s/authority.pem"
                .formatted(name));
    return made;
  }

  Path authorities() {
    return folder.resolve("authority.pem");
  }

  Path file(String name) {
    return folder.resolve(name);
  }

  PemFiles files(String name) {
    return new PemFiles(file(name + ".key"), file(name + ".pem"), authorities());
  }

  /** The certificate of a host, and its key in PKCS #8. */
  PemFiles host(String name) throws IOException {
    return host(name, "EC -pkeyopt ec_paramgen_curve:P-256");
  }

  PemFiles host(String name, String algorithm) throws IOException {
    key(name, algorithm);
    return sign(name, "");
  }

  /** A certificate for a key that there is. */
  PemFiles sign(String name, String options) throws IOException {
    request(name, name);
    openssl(
        name,
        "ca -batch -notext -config settings -keyfile authority.key -cert authority.pem"
            + " -extensions hosts -in %1$s.csr -out %1$s.pem %2$s".formatted(name, options));
    return files(name);
  }

  private void request(String file, String name) throws IOException {
    openssl(name, "req -new -key %s.key -subj /CN=%s -out %s.csr".formatted(file, name, file));
  }

  private void key(String name, String algorithm) throws IOException {
    openssl(name, "genpkey -quiet -out %s.key -algorithm %s".formatted(name, algorithm));
  }

  void revoke(String name) throws IOException {
    openssl(
        name,
        "ca -config settings -keyfile authority.key -cert authority.pem -revoke %s.pem"
            .formatted(name));
  }

  /** The list of what was revoked. */
  String revoked(String options) throws IOException {
    openssl(
        "",
        "ca -gencrl -config settings -keyfile authority.key -cert authority.pem -out list "
            + options);
    return Files.readString(file("list"));
  }

  /**
   * Runs OpenSSL in the folder.
   *
   * @param name for which the settings are
   * @param words separated by spaces
   */
  void openssl(String name, String words) throws IOException {
    var command = new ArrayList<>(List.of("openssl"));
    command.addAll(Arrays.stream(words.split(" ")).filter(word -> !word.isEmpty()).toList());
    var builder = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
    builder.environment().put("NAME", name);
    var process = builder.start();
    process.getOutputStream().close();
    var output = new String(process.getInputStream().readAllBytes(), UTF_8);
    try {
      if (process.waitFor() != 0) {
        throw new IOException(String.join(" ", command) + ": " + output);
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }
}
