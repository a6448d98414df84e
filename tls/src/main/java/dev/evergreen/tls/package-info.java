/** Keys and certificates of PEM files, for TLS. */
@NullMarked
package dev.evergreen.tls;

import org.jspecify.annotations.NullMarked;
