import { GjallarError } from '../../../base/errors.js';
import { requireRate } from '../../../features/state/options.js';
import { requireRoom } from '../../accounts/identity.js';
import type { ChatContext } from '../context.js';
import { readObject, readRoom } from '../input.js';
import type { ChatSocket, WatchReply } from '../protocol.js';
import { eventOf } from './rooms.js';

/** Sends the client the newest values of a state room from now on. */
export async function watch({ states }: ChatContext, socket: ChatSocket, input: unknown): Promise<WatchReply> {
  if (!states) throw new GjallarError('STATE_OFF');
  const { room: given, version, maxRate: rate } = readObject(input);
  const room = readRoom(given);
  requireRoom(socket.data.grant, 'join', room);
  const maxRate = rate ?? undefined;
  requireRate(maxRate);
  const keys = states.sockets.watch(socket, room, { version, maxRate });
  return { room, event: eventOf(room), keys };
}

export async function unwatch({ states }: ChatContext, socket: ChatSocket, input: unknown): Promise<object> {
  states?.sockets.unwatch(socket, readRoom(input));
  return {};
}
