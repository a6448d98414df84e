package dev.evergreen.shims.redis;

import dev.evergreen.provenance.Client;
import dev.evergreen.shims.Tape;

/**
 * Who a client is to Redis, as Redis' replies tell: as whom it speaks, how it is called, and in
 * which database it is. Written by whoever passes the reply on that tells it; what the record says
 * of clients is put there, too.
 */
final class Profile {
  /** Of the client on record. */
  final long number;

  private final Tape tape;
  private final String address;
  private volatile Identity identity = Identity.NEW;
  private volatile int database;
  private volatile String name = "";

  /** Of a client that has just come. */
  Profile(Tape tape, String address) {
    this.tape = tape;
    this.address = address;
    number = tape.connect(client());
  }

  Identity identity() {
    return identity;
  }

  int database() {
    return database;
  }

  String name() {
    return name;
  }

  void isIn(int other) {
    database = other;
  }

  void isNamed(String other) {
    name = other;
    tellChange();
  }

  void becomes(String user, String password) {
    identity = identity.as(user, password);
    tellChange();
  }

  /** Only Redis knows as whom it speaks from now on. */
  void becomesUnknown() {
    identity = Identity.NEW.withProtocol(identity.protocol());
    tellChange();
  }

  void greeted(Words words) {
    var next = words.number() < 0 ? identity : identity.withProtocol(words.number());
    identity = words.user().isEmpty() ? next : next.as(words.user(), words.password());
    if (!words.name().isEmpty()) {
      name = words.name();
    }
    tellChange();
  }

  void wasReset() {
    identity = Identity.NEW;
    name = "";
    database = 0;
    tellChange();
  }

  private void tellChange() {
    tape.change(number, client());
  }

  private Client client() {
    var user = identity.user();
    return new Client(address, name, user == null ? "" : user, "RESP" + identity.protocol());
  }
}
