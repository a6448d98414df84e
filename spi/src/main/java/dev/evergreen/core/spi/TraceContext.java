package dev.evergreen.core.spi;

/**
 * Where in a trace something happens, as W3C Trace Context writes it.
 *
 * @param parent the header {@code traceparent}
 * @param state the header {@code tracestate}; empty if there is none
 */
public record TraceContext(String parent, String state) {}
