/**
 * Where the proxy keeps responses: a tier in memory outside the heap and one on disk, behind {@link
 * dev.evergreen.proxy.storage.Storage}.
 */
@NullMarked
package dev.evergreen.proxy.storage;

import org.jspecify.annotations.NullMarked;
