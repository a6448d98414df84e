@NullMarked
package dev.evergreen.telemetry;

import org.jspecify.annotations.NullMarked;
