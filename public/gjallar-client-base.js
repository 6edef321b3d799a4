// What the parts of gjallar-client.js share.

/** How long the server may take to answer, in ms. */
export const REPLY_TIMEOUT_MS = 10_000;
/** How long until a request that failed in passing is repeated, in ms. */
export const RETRY_MS = 500;

export class RoomError extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'RoomError';
    this.code = code;
  }
}

/** A class whose objects have listeners. */
export const Listening = (Base) =>
  class extends Base {
    #byEvent = new Map();

    on(event, listener) {
      this.#byEvent.set(event, (this.#byEvent.get(event) ?? new Set()).add(listener));
      return this;
    }

    off(event, listener) {
      this.#byEvent.get(event)?.delete(listener);
      return this;
    }

    /** Calls the listeners of an event. Returns whether there is one. */
    _call(event, ...values) {
      const listeners = [...(this.#byEvent.get(event) ?? [])];
      for (const listener of listeners) listener(...values);
      return listeners.length > 0;
    }
  };
