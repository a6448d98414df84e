package dev.evergreen.core.model;

import dev.evergreen.core.Grain;
import dev.evergreen.core.ReadOnly;
import dev.evergreen.core.spi.SummaryKey;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The graph of dependencies as something that can be read: what a summary reads is a result like
 * any other, with caches that are kept true. So what is concluded from edges is marked when one of
 * them changes.
 */
public interface Graph extends Grain {

  /**
   * One read of a summary.
   *
   * @param depth of what is read, as far as the reader knows; 0 if it has no result yet
   * @param tentative whether only a run under way has read it: the present result does not depend
   *     on it, and the next one may not either
   * @param reader in the first of a list, whose reads it has, as that one's own node names it,
   *     whatever the version of whoever asks; null in the others, and in lists of older nodes
   */
  record Read(SummaryKey summary, int depth, boolean tentative, @Nullable SummaryKey reader) {

    /** The depth of members of a circle, and of what reads them. */
    public static final int ENDLESS = Integer.MAX_VALUE;

    public Read(SummaryKey summary, int depth, boolean tentative) {
      this(summary, depth, tentative, null);
    }

    /** As the first of a list. */
    public Read by(SummaryKey whose) {
      return new Read(summary, depth, tentative, whose);
    }
  }

  /**
   * What a summary of this grain reads, but for what reads nothing itself: what its accepted run
   * has read, and what a run under way has read beyond that. Nodes of an older version read this
   * list, too: whatever is added to it is a component of a {@link Read}.
   */
  @ReadOnly
  List<Read> $reads(String operation, byte[] arguments);

  /** Names the lists of reads, as calls of their own. For the caches and publishers of a node. */
  final class Names {
    private final GrainModel model;
    private final Operation reads;

    Names(GrainModel model) {
      this.model = model;
      var operation = model.operation("$reads(java.lang.String,byte[])");
      if (operation == null) {
        throw new IllegalStateException("this interface declares it");
      }
      this.reads = operation;
    }

    /** What a summary reads. */
    public CallKey readsOf(SummaryKey summary) {
      return new CallKey(
          model, summary.grain(), reads, new Object[] {summary.operation(), summary.arguments()});
    }

    /** Whether a call asks for what a summary reads. */
    public boolean isReads(CallKey key) {
      return key.operation().equals(reads);
    }

    /** Whether a node asks for what a summary reads. */
    public boolean isReads(SummaryKey key) {
      return key.operation().equals(reads.signature());
    }

    /** The model of such calls, whatever the type of the grain. */
    GrainModel model() {
      return model;
    }

    /** The summary whose reads a call asks for. */
    public SummaryKey summaryOf(CallKey reads) {
      var arguments = reads.arguments();
      return new SummaryKey(reads.grain(), (String) arguments[0], (byte[]) arguments[1]);
    }

    /** The list in a cache of {@link #readsOf}; empty if there is none to be had. */
    @SuppressWarnings("unchecked") // the operation's result
    public static List<Read> list(@Nullable Outcome outcome) {
      return outcome instanceof Outcome.Returned(var value) && value != null
          ? (List<Read>) value
          : List.of();
    }
  }
}
