/**
 * What operators see of nodes: metrics by Micrometer and Prometheus, health, and traces by
 * OpenTelemetry. What each metric means is in {@code docs/operations.md}.
 */
@NullMarked
package dev.evergreen.telemetry;

import org.jspecify.annotations.NullMarked;
