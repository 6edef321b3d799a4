import { type Failure, failureOf, GjallarError } from '../../../base/errors.js';
import type { ChatContext } from '../context.js';
import type { ChatSocket } from '../protocol.js';
import { boundedHandlers, type Handler } from './index.js';

/** With this number of events without a reply, further reads of a client are rejected. */
export const MAX_IN_FLIGHT = 100;

/** An event has a name, an input, and perhaps an acknowledgement. */
const MAX_VALUES = 3;

const rejection = (message?: string): Failure => failureOf(new GjallarError('RATE_LIMITED', message));
const tooManyInFlight = rejection(
  `${MAX_IN_FLIGHT} events of this client have no reply yet. Wait for their replies before you send more.`,
);
const tooFast = rejection();

/** Rejects an event of a client that exceeds its rate limit. The client learns it if it asked for a reply. */
export function refuse(event: readonly unknown[]): void {
  const reply = event.at(-1);
  if (typeof reply === 'function') reply(tooFast);
}

/** Sends a value back: as the reply if the client asked for one, otherwise as an event. */
export function echo(socket: ChatSocket, event: readonly unknown[]): void {
  const reply = event.at(-1);
  if (typeof reply !== 'function') socket.emit('echo', event[1]);
  else if (event.length > MAX_VALUES) reply(failureOf(new GjallarError('BAD_INPUT')));
  // Without a value, the first argument is the acknowledgement. Emitting it would make socket.io store it.
  else reply(...event.slice(1, -1));
}

/** Handles an event, and replies if the client has asked for a reply. */
export async function answer(
  handler: Handler,
  context: ChatContext,
  socket: ChatSocket,
  event: readonly unknown[],
): Promise<void> {
  // A client that sends no input, or too many, may still ask for a reply.
  const reply = event.at(-1);
  const callback = typeof reply === 'function' ? reply : undefined;
  if (context.talkers.isDue()) context.talkers.add(socket.data.name);
  const { conn } = socket;
  const { inFlight } = context;
  const { log } = context.worker;
  const before = inFlight.get(conn) ?? 0;
  if (boundedHandlers.has(handler) && before >= MAX_IN_FLIGHT) {
    context.counters.failed(tooManyInFlight.code);
    return callback?.(tooManyInFlight);
  }
  inFlight.set(conn, before + 1);
  try {
    if (event.length > MAX_VALUES) throw new GjallarError('BAD_INPUT');
    const result = await handler(context, socket, event[1]);
    callback?.({ ok: true, ...result });
  } catch (error) {
    const failure = failureOf(error, () => log.error({ error }, 'a chat event failed'));
    context.counters.failed(failure.code);
    log.debug({ socket: socket.id, user: socket.data.name, code: failure.code }, 'an event was rejected');
    callback?.(failure);
  } finally {
    const left = inFlight.get(conn)! - 1;
    if (left > 0) inFlight.set(conn, left);
    else inFlight.delete(conn);
  }
}
