package dev.evergreen.memcached;

import dev.evergreen.tls.PemFiles;

/**
 * How a server speaks TLS. Its files are read when it starts, and again at the command {@code
 * refresh_certs}.
 *
 * @param files its key and certificates, and the authority of its clients' if they are asked for
 * @param clients whether clients must show certificates
 * @param least the oldest version that is spoken
 */
public record MemcachedTls(PemFiles files, ClientCertificates clients, Version least) {

  /** Whether clients must show certificates. */
  public enum ClientCertificates {
    /** None is asked for. */
    UNASKED,
    /** A client may show one; if it does, it must be of the authority. */
    WANTED,
    /** A client without one of the authority is turned away. */
    REQUIRED
  }

  /** Versions of TLS. */
  public enum Version {
    /** TLS 1.2. */
    TLS_1_2,
    /** TLS 1.3. */
    TLS_1_3
  }

  /** Checks that there is an authority if clients' certificates are looked at. */
  public MemcachedTls {
    if (clients != ClientCertificates.UNASKED && files.authority() == null) {
      throw new IllegalArgumentException(
          "clients' certificates cannot be checked without those of their authority");
    }
  }
}
