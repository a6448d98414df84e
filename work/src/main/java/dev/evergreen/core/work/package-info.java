/**
 * Who works, and who waits: tasks and the threads that do them, the right to run that one has at a
 * time, and work that is not wanted any more. It knows no grains.
 */
@NullMarked
package dev.evergreen.core.work;

import org.jspecify.annotations.NullMarked;
