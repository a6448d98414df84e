/** Tests of Chirper on a real node. */
@NullMarked
package dev.evergreen.chirper;

import org.jspecify.annotations.NullMarked;
