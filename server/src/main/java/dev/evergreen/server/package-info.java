/** The command line of the servers. */
@NullMarked
package dev.evergreen.server;

import org.jspecify.annotations.NullMarked;
