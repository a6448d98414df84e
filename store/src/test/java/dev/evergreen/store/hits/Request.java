package dev.evergreen.store.hits;

/**
 * A request of a trace: a get, after which the caller stores the value if it was missing.
 *
 * @param key its number
 * @param keyLength bytes of the key
 * @param valueLength bytes of the value
 * @param lifetime seconds until what is stored expires, 0 for never
 */
record Request(int key, int keyLength, int valueLength, int lifetime) {}
