/**
 * A load for caching proxies after Polymix-3, the workload that the field's contests were held
 * with. Everything about an object follows from its name, so that the origin and those who ask
 * agree without a word; all proxies get the same requests at the same times.
 */
@NullMarked
package dev.evergreen.bench.polymix;

import org.jspecify.annotations.NullMarked;
