package dev.evergreen.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AccountTest {

  @TempDir private Path folder;

  @Test
  void anAccountIsFoundByItsName() throws IOException {
    assertEquals(new Account("root", 0, 0), Account.of("root"));
    var entry =
        Files.readAllLines(Path.of("/etc/passwd")).stream()
            .filter(line -> line.startsWith("nobody:"))
            .findFirst()
            .orElseThrow()
            .split(":", -1);
    assertEquals(
        new Account("nobody", Integer.parseInt(entry[2]), Integer.parseInt(entry[3])),
        Account.of("nobody"));
  }

  @Test
  void anAccountThatIsNotThereIsNamed() {
    var e = assertThrows(IOException.class, () -> Account.of("no-such-user"));
    assertTrue(String.valueOf(e.getMessage()).contains("no-such-user"));
  }

  /** Who is root can become root, and stays what it was; who is not, can become nobody else. */
  @Test
  void onlyRootBecomesRoot() throws IOException {
    var root = Account.of("root");
    if (Account.isRoot()) {
      root.become();
      assertTrue(Account.isRoot());
    } else {
      var e = assertThrows(IOException.class, root::become);
      assertTrue(String.valueOf(e.getMessage()).contains("Operation not permitted"));
    }
  }

  @Test
  void aFileBecomesTheAccounts() throws IOException {
    var file = Files.createFile(folder.resolve("file"));
    if (Account.isRoot()) {
      var nobody = Account.of("nobody");
      nobody.own(file);
      assertEquals(nobody.user(), Files.getAttribute(file, "unix:uid"));
      assertEquals(nobody.group(), Files.getAttribute(file, "unix:gid"));
    } else {
      assertThrows(IOException.class, () -> Account.of("root").own(file));
    }
  }
}
