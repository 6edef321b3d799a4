import { failureOf, GjallarError } from '../base/errors.js';
import { owned } from '../base/owner.js';
import type { AnySocket } from '../io/any.js';

/** How many requests of one client may be in progress, with each part. */
const MAX_REQUESTS = 100;

/**
 * Answers requests of a client: with `{ ok: true }` and what its handler returns, or with `{ ok: false, code, message }`.
 * @param handlers by event
 * @param onError told of errors without a code, which the client gets as INTERNAL
 * @returns what ends it
 */
export function answerRequests(
  socket: AnySocket,
  handlers: Readonly<Record<string, (input: unknown) => Promise<object>>>,
  onError: (error: unknown) => void,
): () => void {
  let requests = 0;
  const listeners = Object.entries(handlers).map(([event, answer]) => {
    const listener = async (...values: unknown[]) => {
      const reply = values.pop();
      if (typeof reply !== 'function') return;
      requests++;
      try {
        if (requests > MAX_REQUESTS) throw new GjallarError('RATE_LIMITED');
        if (values.length > 1) throw new GjallarError('BAD_INPUT');
        reply({ ok: true, ...(await answer(values[0])) });
      } catch (error) {
        reply(failureOf(error, onError));
      } finally {
        requests--;
      }
    };
    return [event, owned(`answering ${event}`, listener)] as const;
  });
  for (const [event, listener] of listeners) socket.on(event, listener);
  return () => {
    for (const [event, listener] of listeners) socket.off(event, listener);
  };
}
