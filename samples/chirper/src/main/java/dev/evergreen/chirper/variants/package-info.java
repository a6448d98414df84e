/**
 * Three ways to keep somebody's timeline on display, as the paper compares them (004 §3).
 *
 * <ul>
 *   <li>{@link dev.evergreen.chirper.variants.PollingTimeline} asks again and again (§3.1, Figure
 *       2).
 *   <li>{@link dev.evergreen.chirper.variants.ObservedTimeline} is told, by propagation written by
 *       hand (§3.2, Figure 3). Everything else in this package belongs to it.
 *   <li>{@link dev.evergreen.chirper.variants.ReactiveTimeline} is a reactive computation (§3.3,
 *       Figures 4 and 6). Chirper's page works like this one.
 * </ul>
 */
@NullMarked
package dev.evergreen.chirper.variants;

import org.jspecify.annotations.NullMarked;
