/**
 * The rules of HTTP caching, as functions of messages' heads and a time. Nothing here waits, stores
 * or counts; each rule names the section that it follows.
 */
@NullMarked
package dev.evergreen.proxy.rules;

import org.jspecify.annotations.NullMarked;
