import { GjallarError } from '../../../base/errors.js';
import { requireRoom } from '../../accounts/identity.js';
import type { ChatContext } from '../context.js';
import { readObject, readRoom } from '../input.js';
import type { ChatSocket, WatchReply } from '../protocol.js';
import { eventOf } from './rooms.js';

const MIN_RATE = 0.01;
const MAX_RATE = 1000;

/** Sends the client the newest values of a state room from now on. */
export async function watch({ states }: ChatContext, socket: ChatSocket, input: unknown): Promise<WatchReply> {
  if (!states) throw new GjallarError('STATE_OFF');
  const { room: given, version, maxRate } = readObject(input);
  const room = readRoom(given);
  requireRoom(socket.data.grant, 'join', room);
  const keys = states.sockets.watch(socket, room, { version, maxRate: readRate(maxRate) });
  return { room, event: eventOf(room), keys };
}

export async function unwatch({ states }: ChatContext, socket: ChatSocket, input: unknown): Promise<object> {
  states?.sockets.unwatch(socket, readRoom(input));
  return {};
}

/** How many updates a second a client wants at most. @throws GjallarError BAD_INPUT */
export function readRate(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && value >= MIN_RATE && value <= MAX_RATE) return value;
  throw new GjallarError('BAD_INPUT', `maxRate must be a number from ${MIN_RATE} to ${MAX_RATE}, in updates a second.`);
}
