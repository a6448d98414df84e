package dev.evergreen.provenance;

/**
 * How the loading of a trace is doing.
 *
 * @param loaded the number of the last frame that is in the database
 * @param failures how often loading has failed and was begun again
 * @param failure why it fails at the moment; empty if it does not
 */
public record LoaderReport(long loaded, long failures, String failure) {}
