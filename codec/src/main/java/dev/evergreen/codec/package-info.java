/**
 * Values and their bytes: what may be passed between grains, how it is written, compared and kept.
 *
 * <p>A <em>value</em> is null, a string, a primitive or boxed type, an enum, a {@code java.time}
 * type, a UUID, a big number, a record, a sealed interface of such records and enums, or a list,
 * set, map, optional or array of values.
 */
@NullMarked
package dev.evergreen.codec;

import org.jspecify.annotations.NullMarked;
