/** Storage that outlives the process: grains' states in an SQLite file or a PostgreSQL database. */
@NullMarked
package dev.evergreen.storage;

import org.jspecify.annotations.NullMarked;
