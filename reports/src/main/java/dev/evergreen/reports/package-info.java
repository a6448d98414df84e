/**
 * What a node holds and has done, for those who watch it: {@link dev.evergreen.reports.NodeReport}.
 * A node reports when this is on the class path; nothing has to be set up.
 */
@NullMarked
package dev.evergreen.reports;

import org.jspecify.annotations.NullMarked;
