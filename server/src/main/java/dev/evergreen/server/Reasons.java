package dev.evergreen.server;

import java.net.BindException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/** Why something failed, in words: of some exceptions the message is the name of a file only. */
final class Reasons {
  private Reasons() {}

  static String of(Exception e) {
    return switch (e) {
      case NoSuchFileException file -> missing(Path.of(file.getFile()));
      case AccessDeniedException file -> "access to " + file.getFile() + " is denied";
      case NotDirectoryException file -> file.getFile() + " is no directory";
      case FileAlreadyExistsException file -> file.getFile() + " is there, and no directory";
      default -> e.getMessage() == null ? e.toString() : e.getMessage();
    };
  }

  private static String missing(Path file) {
    var folder = file.toAbsolutePath().getParent();
    return folder == null || Files.isDirectory(folder)
        ? "there is no file " + file
        : "there is no directory " + folder + " for " + file.getFileName();
  }

  /** The same, of a server: where it cannot listen, with the options that choose another place. */
  static String of(Exception e, String options) {
    return e instanceof BindException || e.getCause() instanceof BindException
        ? of(e) + "; choose another by " + options
        : of(e);
  }
}
