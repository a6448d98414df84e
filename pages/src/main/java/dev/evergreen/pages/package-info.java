/**
 * What all pages for operators share, whoever serves them: {@code page.css}, {@code page.js} and
 * {@code icon.svg}, as {@link dev.evergreen.pages.PageFiles}.
 */
@NullMarked
package dev.evergreen.pages;

import org.jspecify.annotations.NullMarked;
