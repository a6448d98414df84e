package dev.evergreen.fibers;

import java.time.Duration;

/** What a runtime is made with; see {@link Fibers.Builder}. */
record Settings(String name, int processors, boolean helping, Duration ageBound) {}
