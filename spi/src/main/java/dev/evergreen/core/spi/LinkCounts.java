package dev.evergreen.core.spi;

/**
 * What has gone over the links of a node since it was started.
 *
 * @param messagesIn messages that were received and given to the listener
 * @param messagesOut messages that were written
 * @param framesIn frames that were received; a large message has several
 * @param framesOut frames that were written
 * @param bytesIn bytes of frames that were received, without those of TLS
 * @param bytesOut bytes of frames that were written, without those of TLS
 * @param writes how often frames were written; each time as many as there were
 * @param malformed frames and handshakes that could not be read
 * @param unknown messages and frames of types that only later versions know
 * @param refused connections of others that were refused or gave no handshake in time
 * @param dropped messages that were not sent for want of room, or lost with their connection before
 *     they were written
 * @param connections connections to members that came about
 * @param reconnections those of them that were not the first to their node
 * @param connected links that have a connection now
 * @param queuedBytes bytes that wait to be written now
 */
public record LinkCounts(
    long messagesIn,
    long messagesOut,
    long framesIn,
    long framesOut,
    long bytesIn,
    long bytesOut,
    long writes,
    long malformed,
    long unknown,
    long refused,
    long dropped,
    long connections,
    long reconnections,
    int connected,
    long queuedBytes) {

  /** Of a node that has no links. */
  public static final LinkCounts NONE = new LinkCounts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
