@org.jspecify.annotations.NullMarked
package dev.evergreen.bench;
