package dev.evergreen.shims.redis;

import org.jspecify.annotations.Nullable;

/**
 * What Redis knows of the connection of an {@link OwnUpstream}. What Redis says tells it, never
 * what the client has asked for: so it holds whatever Redis refuses, queues or leaves unanswered.
 *
 * <p>Guarded by the upstream's lock, but for the database and the name, which are read without it.
 */
final class Standing {
  /** Stands for the number of a database of which nobody knows which one it is. */
  static final int SOME_DATABASE = -1;

  /** The words of a greeting with one user and nothing behind. */
  private static final int SHORT_GREETING = 5;

  /** What a message is. */
  enum Meaning {
    REPLY,
    CONFIRMATION,
    PUSH
  }

  private final Session session;

  /** What has come last. */
  private final ReplyScanner reply;

  final Queued queued = new Queued();
  private final Subscriptions subscriptions = new Subscriptions();
  private boolean watching;

  /** Whether something is not watched that the client wanted to be. */
  private boolean inVain;

  private boolean monitoring;
  private boolean tracking;
  private boolean silent;
  private boolean silentOnce;

  /** Whether it may have refused to be silent, and has said nothing since that tells. */
  private boolean mayHaveRefused;

  /** The version in which Redis replies to what is expected next. */
  private int protocol;

  /**
   * Whether nothing can be asked of a lane any more, and replies need not tell what they reply to.
   */
  private boolean pinned;

  /** Whether nobody knows any more what is a reply to what. */
  private boolean unclear;

  /** Whether nothing can be asked of a lane any more, though each reply tells to what it is one. */
  private boolean stays;

  /** Of the requests that are sent; written by the reader while none is under way. */
  private volatile int database;

  /** What Redis calls it; written by the reader, and by the sender while nothing is under way. */
  private volatile String name;

  Standing(Session session, ReplyScanner reply, int database, String name) {
    this.session = session;
    this.reply = reply;
    this.database = database;
    this.name = name;
    protocol = session.profile.identity().protocol();
  }

  int database() {
    return database;
  }

  String name() {
    return name;
  }

  /** Redis calls it so, or never will. */
  void isNamed(String called) {
    name = called;
  }

  /** From now on its client keeps to it, and replies need not tell what they reply to. */
  void pin() {
    pinned = true;
  }

  /** Whether nobody knows what is a reply to what from here on. */
  boolean isUnclear() {
    return unclear;
  }

  boolean isPinned() {
    return pinned;
  }

  /** From now on its client keeps to it. */
  void stay() {
    stays = true;
  }

  /** Whether Redis replies to nothing at present. */
  boolean isSilent() {
    return silent || silentOnce;
  }

  /** Whether an error may be its refusal to be silent, which is no reply to what comes behind. */
  boolean mayHaveRefusedSilence() {
    return mayHaveRefused;
  }

  /** Whether Redis simply does what it is asked, and replies. */
  boolean doesAsItIsTold() {
    return !(queued.isOpen() || isSilent() || pinned || hearsArrays());
  }

  /** Whether it carries out nothing of what comes next but what is about the connection. */
  boolean isHoldingBack() {
    return queued.isOpen() || hearsArrays();
  }

  /** A WATCH was refused that Redis would have taken: so is the next transaction. */
  void watchesInVain() {
    inVain = true;
  }

  boolean isInVain() {
    return inVain;
  }

  /** Whether what is asked next may as well be asked elsewhere. */
  boolean isPlain() {
    return !(queued.isOpen() || watching || inVain || monitoring || tracking)
        && !(isSilent() || pinned || stays)
        && !subscriptions.any()
        && database != SOME_DATABASE;
  }

  /** Whether the message that has begun may be none that answers anything. */
  boolean mayPush() {
    return switch (reply.kind()) {
      case '>' -> true;
      case '*' -> hearsArrays();
      case '+' -> monitoring;
      default -> false;
    };
  }

  /** Whether messages come as arrays, like replies: in the new version they are pushes. */
  private boolean hearsArrays() {
    return protocol == 2 && subscriptions.any();
  }

  /** What the message is that has come, while a request may be waiting for its reply. */
  Meaning meaning(@Nullable Expected next) {
    boolean asked = next != null && isOfPubSub(next.verb);
    return switch (reply.kind()) {
      case '>' -> asked && isConfirmation() ? Meaning.CONFIRMATION : Meaning.PUSH;
      case '*' -> {
        if (!(asked && protocol == 2) && !hearsArrays()) {
          yield Meaning.REPLY;
        }
        if (isConfirmation()) {
          yield asked ? Meaning.CONFIRMATION : Meaning.PUSH;
        }
        var word = reply.word();
        yield word.equals("message") || word.equals("pmessage") || word.equals("smessage")
            ? Meaning.PUSH
            : Meaning.REPLY;
      }
      case '+' -> {
        var word = reply.word();
        boolean line = monitoring && !word.isEmpty() && Character.isDigit(word.charAt(0));
        yield line ? Meaning.PUSH : Meaning.REPLY;
      }
      default -> Meaning.REPLY;
    };
  }

  /** Whether what is replied may come as messages of several. */
  static boolean isOfPubSub(Verb verb) {
    return verb == Verb.SUBSCRIBE || verb == Verb.UNSUBSCRIBE;
  }

  private boolean isConfirmation() {
    return reply.word().endsWith("subscribe");
  }

  /** A message has come that answers nothing. */
  void pushed(@Nullable Expected next) {
    if (isConfirmation()) {
      count();
      // Nobody has asked for it by that name.
      unclear |= next != null && next.verb == Verb.STRANGE;
    }
  }

  private void count() {
    subscriptions.become(reply.word(), reply.lastInteger());
  }

  /** A confirmation has come; answers whether it is the last one to that request. */
  boolean confirmed(Expected next) {
    queued.learnOfNone();
    if (next.confirmed == 0 && next.words.count() == 1) {
      // Leaves all that there are, or says once that there are none.
      next.toConfirm = Math.max(1, subscriptions.of(reply.word()));
    }
    count();
    return ++next.confirmed >= next.toConfirm;
  }

  /** The reply to a request has come. */
  void replied(Expected next) {
    boolean refused = reply.isError();
    mayHaveRefused = false;
    if (next.verb == Verb.STRANGE && mayBeOfConnection(refused)) {
      goesAstray();
      unclear = true;
    }
    queued.learn(next.verb, reply);
    if (queued.takes(next.verb)) {
      if (!refused) {
        queued.add(next);
      }
    } else if (!refused) {
      carriedOut(next);
    } else if (next.verb == Verb.EXEC && queued.isOpen()) {
      endQueue();
    } else if (next.verb == Verb.HELLO && mayHaveNamed(next.words)) {
      stays = true;
      session.profile.becomesUnknown();
    }
    session.settingsMayHaveChanged(next.told, refused);
  }

  /** Whether the reply may be one of those that tell that the connection is another one now. */
  private boolean mayBeOfConnection(boolean refused) {
    var word = reply.word();
    // Who is not known is refused before the command is looked at, but where that lets anybody in.
    return refused
        ? !word.startsWith("ERR unknown comm") && !word.startsWith("NOAUTH Auth")
        : queued.isOpen() || reply.kind() == '+' || isConfirmation() || word.equals("server");
  }

  /**
   * Whether Redis may have taken the client for a user whom the greeting names, though it has
   * refused the greeting for what comes behind that.
   */
  private boolean mayHaveNamed(Words words) {
    boolean names = !words.whole() || (!words.user().isEmpty() && words.count() > SHORT_GREETING);
    var word = reply.word();
    return names && !word.startsWith("NOPROTO") && !word.startsWith("NOAUTH");
  }

  private void carriedOut(Expected next) {
    var words = next.words;
    switch (next.verb) {
      case SELECT -> isIn(words.number());
      case AUTH -> session.profile.becomes(words.user(), words.password());
      case HELLO -> {
        speaks(words);
        session.profile.greeted(words);
        name = words.name().isEmpty() ? name : words.name();
      }
      case SET_NAME -> {
        if (!words.ofShim()) {
          session.profile.isNamed(words.name());
        }
        name = words.name();
      }
      case REPLY_ON -> {
        silent = false;
        silentOnce = false;
      }
      case TRACKING -> tracking = words.first().equalsIgnoreCase("on");
      case MULTI -> queued.begin();
      case EXEC -> {
        execute();
        endQueue();
      }
      case DISCARD -> endQueue();
      case WATCH -> watching = true;
      case UNWATCH -> unwatch();
      case MONITOR -> monitoring = true;
      case REPLACES -> session.storeIsReplaced();
      case PAUSES -> session.othersArePaused(words.number());
      case UNPAUSES -> session.othersAreReleased();
      case RESET -> {
        reset();
        session.profile.wasReset();
      }
      default -> {}
    }
  }

  /** From here on nobody knows in which database requests are carried out. */
  void goesAstray() {
    isIn(SOME_DATABASE);
  }

  private void isIn(int which) {
    database = which;
    session.profile.isIn(which);
  }

  private void speaks(Words words) {
    int wanted = words.number();
    protocol = wanted == 2 || wanted == 3 ? wanted : protocol;
  }

  /** What was queued has been carried out, but for what was refused then. */
  private void execute() {
    if (reply.isNil()) {
      return;
    }
    for (var one : queued.all()) {
      // Which of the commands was refused is not looked at.
      session.settingsMayHaveChanged(one.told, reply.holdsError() && !one.told.changesRules());
      if (!reply.holdsError()) {
        carriedOut(one);
      } else {
        mayHaveDone(one);
      }
    }
  }

  private void endQueue() {
    // If there was no transaction, what is watched still is.
    watching &= queued.isUnsure();
    inVain &= !queued.isOpen();
    queued.end();
  }

  private void unwatch() {
    watching = false;
    inVain = false;
  }

  private void reset() {
    endQueue();
    unwatch();
    monitoring = false;
    tracking = false;
    silent = false;
    silentOnce = false;
    subscriptions.end();
    database = 0;
    name = "";
    protocol = 2;
  }

  /** Whether Redis says nothing to it. */
  boolean isSilent(Expected next) {
    boolean queues = queued.takes(next.verb);
    return switch (next.verb) {
      case STREAM -> false;
      case NOTHING -> true;
      case REPLY_ON -> queues && silent;
      case RESET -> silentOnce;
      // Redis takes nothing of the kind from who has subscribed.
      case REPLY_OFF, REPLY_SKIP -> isSilent() || !(queues || hearsArrays());
      default -> isSilent();
    };
  }

  /** Lets it do what it may do without a word. */
  void changeUnheard(Expected next) {
    silentOnce = false;
    if (next.verb == Verb.NOTHING) {
      return;
    }
    if (queued.takes(next.verb)) {
      queued.add(next);
      // It is done, or waits for an EXEC.
      unclear |= next.verb.isUneven();
    }
    switch (next.verb) {
      case REPLY_OFF -> {
        mayHaveRefused |= !silent;
        silent = true;
      }
      case REPLY_SKIP -> {
        mayHaveRefused |= !silent;
        silentOnce = !silent;
      }
      case MULTI -> queued.beginUnheard();
      case EXEC, DISCARD -> endQueue();
      case RESET -> {
        reset();
        session.profile.wasReset();
      }
      // Messages come nevertheless.
      case SUBSCRIBE, UNSUBSCRIBE, MONITOR -> unclear = true;
      case UNWATCH -> {
        // It may have been refused, and what was watched still be.
        inVain = false;
        mayHaveDone(next);
      }
      default -> mayHaveDone(next);
    }
  }

  /** Nobody knows whether it was refused. */
  private void mayHaveDone(Expected next) {
    if (next.verb == Verb.SELECT) {
      goesAstray();
    } else {
      pinned |= !next.verb.leavesConnection();
      // The version tells what is a message.
      unclear |= next.verb == Verb.HELLO || next.verb == Verb.STRANGE;
    }
  }
}
