package dev.evergreen.provenance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What the tests read of spools. */
final class Frames {

  private Frames() {}

  /** A frame, or a gap with {@code number} -1 and the lost frames in {@code about}. */
  record Frame(FrameKind kind, long number, long one, long two, long about, Bytes body) {}

  static Frame frame(SpoolReader reader) {
    return new Frame(
        reader.kind(),
        reader.number(),
        reader.firstSubject(),
        reader.secondSubject(),
        reader.about(),
        Bytes.of(reader.body()));
  }

  /** All that a reader finds at the moment; gaps are left out and their frames counted. */
  static List<Frame> all(SpoolReader reader, long[] lost) throws IOException {
    var found = new ArrayList<Frame>();
    while (true) {
      switch (reader.next()) {
        case NOTHING -> {
          return found;
        }
        case GAP -> lost[0] += reader.lost();
        case FRAME -> found.add(frame(reader));
      }
    }
  }

  static List<Frame> all(Path directory, long[] lost) {
    try (var reader = new SpoolReader(directory, SpoolReader.Position.START)) {
      return all(reader, lost);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(Bytes.of(text).toArray());
  }

  /**
   * As it is found after a failure of the power that has taken all files of frames, and all of what
   * was never forced.
   */
  static void copyForced(Path directory, Path to) throws IOException {
    Files.createDirectories(to);
    var reserved = Reservation.read(directory);
    new Reservation(reserved.index(), reserved.number(), "another boot").write(to);
  }

  /** As a process would find it that was started after this one was killed. */
  static Path copy(Path directory, Path to) throws IOException {
    Files.createDirectories(to);
    for (long index : SpoolFiles.list(directory)) {
      try {
        Files.copy(SpoolFiles.path(directory, index), SpoolFiles.path(to, index));
      } catch (NoSuchFileException e) {
        // It was released, and is removed just now.
      }
    }
    return to;
  }

  /** The same of all of a trace, while nobody loads it. */
  static void copyTrace(Path directory, Path to) throws IOException {
    Files.createDirectories(to);
    try (var files = Files.list(directory)) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        Files.copy(file, to.resolve(file.getFileName()));
      }
    }
    copy(directory.resolve("spool"), to.resolve("spool"));
  }
}
