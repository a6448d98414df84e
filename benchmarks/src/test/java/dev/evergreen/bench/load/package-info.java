@NullMarked
package dev.evergreen.bench.load;

import org.jspecify.annotations.NullMarked;
