/**
 * The papers' experiments and the micro-benchmarks. Variants that are compared run in turns in one
 * process, and what counts is their ratio with its spread: the machine is shared and noisy.
 */
@NullMarked
package dev.evergreen.bench;

import org.jspecify.annotations.NullMarked;
