/** How the edges write results as JSON. */
@NullMarked
package dev.evergreen.json;

import org.jspecify.annotations.NullMarked;
