/**
 * What a process is told from outside: settings as text, in one form of files and of variables for
 * all that can be configured, and signals; and ports for whom it tells where to listen.
 */
@NullMarked
package dev.evergreen.settings;

import org.jspecify.annotations.NullMarked;
