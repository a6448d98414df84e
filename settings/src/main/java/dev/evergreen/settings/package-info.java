/** Settings as text: one form of files and of variables for all that can be configured. */
@NullMarked
package dev.evergreen.settings;

import org.jspecify.annotations.NullMarked;
