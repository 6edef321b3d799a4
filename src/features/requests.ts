import { failureOf, GjallarError } from '../base/errors.js';
import { owned } from '../base/owner.js';
import type { AnyNamespace, AnySocket } from '../io/any.js';

/** How many requests of one client may be in progress, with each part. */
const MAX_REQUESTS = 100;

/** By event. */
type RequestHandlers = Readonly<Record<string, (input: unknown) => Promise<object>>>;

/**
 * Answers requests of the clients of a namespace, from now on: with `{ ok: true }` and what its handler returns, or with `{ ok: false, code, message }`.
 * @param handlersOf called once for each client
 * @param onError told of errors without a code, which the client gets as INTERNAL
 * @returns what ends it
 */
export function answerRequests(
  nsp: AnyNamespace,
  handlersOf: (socket: AnySocket) => RequestHandlers,
  onError: (error: unknown) => void,
): () => void {
  const ends = new WeakMap<AnySocket, () => void>();
  const onConnection = (socket: AnySocket) => {
    ends.set(socket, answerClient(socket, handlersOf(socket), onError));
  };
  nsp.on('connection', onConnection);
  for (const socket of nsp.sockets.values()) onConnection(socket);
  return () => {
    nsp.off('connection', onConnection);
    for (const socket of nsp.sockets.values()) ends.get(socket)?.();
  };
}

function answerClient(socket: AnySocket, handlers: RequestHandlers, onError: (error: unknown) => void): () => void {
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
