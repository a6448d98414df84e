package dev.evergreen.proxy;

/** The points of a transaction, in their order: at each a module may once be told, and may wait. */
public enum Point {
  /** The request's first line and its fields are there. */
  REQUEST,
  /** It is known what it asks for: the key. */
  KEY,
  /** The cache was looked up. */
  LOOKUP,
  /** It is decided how it is answered: from the cache, after a validation, by the origin. */
  DECISION,
  /** The origin is about to be asked. */
  ORIGIN_REQUEST,
  /** The origin's response has begun: its status and fields are there. */
  RESPONSE,
  /** It is decided whether the response is stored. */
  STORE,
  /** The client's response begins: its status and fields are sent. */
  ANSWER,
  /** A piece of a body passes; only the first is noted. */
  BODY,
  /** All was sent, or given up. */
  LOG
}
