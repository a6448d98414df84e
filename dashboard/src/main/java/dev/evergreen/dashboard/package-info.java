/** A page that shows what the nodes do, live: {@link dev.evergreen.dashboard.Dashboard}. */
@NullMarked
package dev.evergreen.dashboard;

import org.jspecify.annotations.NullMarked;
