package dev.evergreen.web;

/**
 * A view that a page shows at first, and so shall bring along.
 *
 * @param view the view's name
 * @param params its parameters
 */
public record FirstResult(String view, Record params) {}
