/**
 * What a process is told from outside: settings as text, in one form of files and of variables for
 * all that can be configured, and signals.
 */
@NullMarked
package dev.evergreen.settings;

import org.jspecify.annotations.NullMarked;
