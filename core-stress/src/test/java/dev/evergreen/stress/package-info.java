/** Runs tests of jcstress as tests of JUnit; for the modules that have some. */
@NullMarked
package dev.evergreen.stress;

import org.jspecify.annotations.NullMarked;
