import type { Identity } from '../accounts/identity.js';

/**
 * Tells callers over HTTP apart where they take turns, and where they are charged. Requests with the API key are the
 * operator's, so each counts by itself.
 */
export function callerOf(caller: Identity | undefined): object | string {
  return caller ? `http ${caller.name}` : {};
}
