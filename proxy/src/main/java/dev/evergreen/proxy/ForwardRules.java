package dev.evergreen.proxy;

import java.util.List;
import java.util.Set;

/**
 * That a proxy asks whatever origin a client names, and makes tunnels (RFC 9110 §9.3.6), and for
 * whom.
 *
 * @param clients who may ask for that; as whatever this machine can reach is within their reach
 *     then, strangers should not
 * @param tunnelPorts the ports to which tunnels are made
 * @param toItself whether clients on other machines, too, may ask for what is on this machine or
 *     has an address of its link only, by whatever name
 */
public record ForwardRules(Trust clients, Set<Integer> tunnelPorts, boolean toItself) {

  /** For this machine and for networks that are not the internet's; tunnels for TLS only. */
  public static final ForwardRules DEFAULT =
      new ForwardRules(
          Trust.of(
              List.of(
                  "127.0.0.0/8",
                  "::1",
                  "10.0.0.0/8",
                  "172.16.0.0/12",
                  "192.168.0.0/16",
                  "fc00::/7",
                  "fe80::/10")),
          Set.of(443),
          false);

  public ForwardRules {
    tunnelPorts = Set.copyOf(tunnelPorts);
  }
}
