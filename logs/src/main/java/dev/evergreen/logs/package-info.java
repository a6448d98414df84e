/** Lines of requests in files, as servers have always written them. */
@NullMarked
package dev.evergreen.logs;

import org.jspecify.annotations.NullMarked;
