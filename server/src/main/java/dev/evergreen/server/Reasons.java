package dev.evergreen.server;

import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** Why something failed, in words: of some exceptions the message is the name of a file only. */
final class Reasons {
  private Reasons() {}

  static String of(Exception e) {
    return switch (e) {
      case NoSuchFileException file -> "there is no file " + file.getFile();
      case AccessDeniedException file -> "access to " + file.getFile() + " is denied";
      case NotDirectoryException file -> file.getFile() + " is no directory";
      default -> e.getMessage() == null ? e.toString() : e.getMessage();
    };
  }
}
