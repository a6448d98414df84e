package dev.evergreen.user;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.evergreen.core.ActivationException;
import dev.evergreen.core.EmbeddedNode;
import dev.evergreen.core.Grain;
import dev.evergreen.core.GrainContext;
import dev.evergreen.core.GrainFailureException;
import dev.evergreen.core.GrainTimeoutException;
import dev.evergreen.core.InvalidGrainException;
import dev.evergreen.core.Node;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** What code outside of the runtime's own package sees of failures. */
final class ExceptionsTest {

  interface Account extends Grain {
    void withdraw(int amount);

    void stray();

    void hang();
  }

  static final class Insufficient extends RuntimeException {
    Insufficient(String message) {
      super(message);
    }
  }

  static final class AccountGrain implements Account {
    private final CountDownLatch ended;

    AccountGrain(GrainContext<String> context, CountDownLatch ended) {
      this.ended = ended;
      if (context.key().equals("broken")) {
        throw new IllegalStateException("no such account");
      }
    }

    @Override
    public void withdraw(int amount) {
      throw new Insufficient("only 3 left");
    }

    @Override
    public void stray() {
      throw new TestAbortedException("of a foreign package");
    }

    @Override
    public void hang() {
      try {
        ended.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private final CountDownLatch ended = new CountDownLatch(1);
  private final Node node = builder().start();

  private EmbeddedNode.Builder builder() {
    return EmbeddedNode.builder().grain(Account.class, context -> new AccountGrain(context, ended));
  }

  @AfterEach
  void stop() {
    ended.countDown();
    node.close();
  }

  private Account account(String key) {
    return node.grains().get(Account.class, key);
  }

  @Test
  void theTraceIsTheOperationsAndBelowItTheCallers() {
    var ada = account("ada");
    var failure = assertThrows(Insufficient.class, () -> ada.withdraw(7));
    var methods =
        Arrays.stream(failure.getStackTrace())
            .filter(frame -> frame.getClassName().startsWith(getClass().getName()))
            .map(StackTraceElement::getMethodName)
            .toList();
    assertEquals("withdraw", methods.getFirst());
    assertEquals("theTraceIsTheOperationsAndBelowItTheCallers", methods.getLast());
  }

  @Test
  void anExceptionOfAForeignClassNamesTheCallAndWhatToDo() {
    var ada = account("ada");
    var failure = assertThrows(GrainFailureException.class, ada::stray);
    var message = String.valueOf(failure.getMessage());
    assertTrue(
        message.startsWith(
            "Account/ada.stray() threw org.opentest4j.TestAbortedException: of a foreign package"),
        message);
    assertTrue(message.contains("in the package of Account"), message);
  }

  @Test
  void whatAConstructorThrowsIsTheCause() {
    var broken = account("broken");
    var failure = assertThrows(ActivationException.class, () -> broken.withdraw(1));
    var cause = assertInstanceOf(IllegalStateException.class, failure.getCause());
    assertEquals("no such account", cause.getMessage());
    assertEquals(AccountGrain.class.getName(), cause.getStackTrace()[0].getClassName());
  }

  @Test
  void aFactoryThatAnswersNothingIsTold() {
    try (var broken = EmbeddedNode.builder().grain(Account.class, c -> nothing()).start()) {
      var ada = broken.grains().get(Account.class, "ada");
      var failure = assertThrows(ActivationException.class, () -> ada.withdraw(1));
      assertTrue(failure.getMessage().contains("its factory answered null"), failure::getMessage);
    }
  }

  @SuppressWarnings("NullAway") // what an application that is not checked may do
  private static Account nothing() {
    return null;
  }

  @Test
  void aTimeLimitIsToldInMilliseconds() {
    var hasty = node.grains().withTimeout(Duration.ofMillis(30)).get(Account.class, "ada");
    var failure = assertThrows(GrainTimeoutException.class, hasty::hang);
    assertTrue(failure.getMessage().contains("within 30 ms"), failure.getMessage());
  }

  @Test
  void aTypeThatIsRegisteredTwiceIsNamed() {
    var builder = builder();
    var failure =
        assertThrows(
            InvalidGrainException.class,
            () -> builder.grain(Account.class, context -> new AccountGrain(context, ended)));
    assertEquals(Account.class.getTypeName() + " is registered twice", failure.getMessage());
  }
}
