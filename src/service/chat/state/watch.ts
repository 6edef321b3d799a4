import { GjallarError } from '../../../base/errors.js';
import { requireRate, type StateFormat } from '../../../features/state/index.js';
import type { Identity } from '../../accounts/identity.js';
import type { ChatContext } from '../context.js';
import { readObject, readRoom } from '../input.js';
import { type ChatMember, memberOf } from '../plain/member.js';
import type { ChatSocket, WatchReply } from '../protocol.js';

/** Sends the client the newest values of a state room from now on. */
export async function watch({ states }: ChatContext, socket: ChatSocket, input: unknown): Promise<WatchReply> {
  const { room: given, version, maxRate } = readObject(input);
  const room = states.find(given, 'join', socket.data.grant);
  const rate = maxRate ?? undefined;
  requireRate(rate);
  const joined = room.join(socket, { version, maxRate: rate });
  if (!joined.ok) throw new GjallarError('STATE_BUSY', joined.message);
  states.joined(room);
  return { room: room.name, event: joined.event, keys: joined.keys };
}

export async function unwatch({ states }: ChatContext, socket: ChatSocket, input: unknown): Promise<object> {
  const name = readRoom(input);
  for (const room of states.all) if (room.name === name) room.leave(socket);
  return {};
}

/** How plain WebSockets get the changes of a room: each message is one text of JSON. */
const plainFormat: StateFormat = {
  name: 'plain',
  prefix: '',
  encode: ({ entries }, { mark: _, ...meta }) => {
    // Nothing that such a client sends is read, so it has no mark to acknowledge. Over HTTP, no bytes can be set.
    const changes = entries.map(({ head, value }) => (value === undefined ? `${head}]` : `${head},${value}]`));
    return [`{"changes":[${changes.join(',')}],${JSON.stringify(meta).slice(1)}`];
  },
};

/**
 * Admits a plain WebSocket that watches a state room.
 * @param query the parameters of the URL: `version` and `maxRate`
 * @throws GjallarError BAD_ROOM, BAD_INPUT, ROOM_FORBIDDEN, NOT_FOUND
 */
export function admitWatcher(
  context: ChatContext,
  given: string,
  identity: Identity,
  query: Readonly<Record<string, string>>,
): ChatMember {
  const { states } = context;
  const maxRate = query.maxRate === undefined ? undefined : Number(query.maxRate);
  requireRate(maxRate);
  const room = states.find(given, 'join', identity.grant);
  let stop = () => {};
  return memberOf(context, identity, undefined, {
    enter: async (client) => {
      stop = room.joinReader(client, plainFormat, { version: query.version, maxRate });
      states.joined(room);
    },
    say: async () => {
      throw new GjallarError('BAD_INPUT', 'A client that watches a state room sends nothing.');
    },
    leave: () => stop(),
  });
}
