/** HTTP/1.1 and HTTP/2 over connections of fibers, on either side. */
@NullMarked
package dev.evergreen.http;

import org.jspecify.annotations.NullMarked;
