import { randomBytes } from 'node:crypto';
import { GjallarError } from '../../../base/errors.js';
import type { StateFormat } from '../../../features/state/members/format.js';
import { requireRate } from '../../../features/state/options.js';
import type { Member } from '../../plain/plain-socket.js';
import type { ChatContext } from '../context.js';
import { identify } from '../identify.js';
import { readObject, readRoom } from '../input.js';
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
 * @param query the parameters of the URL: `name` or `token`, `version` and `maxRate`
 * @throws GjallarError BAD_ROOM, BAD_NAME, BAD_INPUT, TOKEN_…, ROOM_FORBIDDEN, NOT_FOUND
 */
export async function admitWatcher(
  { states, accounts, revoked }: ChatContext,
  given: string,
  query: Readonly<Record<string, string>>,
): Promise<Member> {
  const name = readRoom(given);
  const maxRate = query.maxRate === undefined ? undefined : Number(query.maxRate);
  requireRate(maxRate);
  const identity = await identify(accounts, query, randomBytes(3).toString('hex'));
  const room = states.find(name, 'join', identity.grant);
  let stop = () => {};
  return {
    room: undefined,
    identity,
    expires: identity.expires,
    enter: async (client) => {
      // The token may have been revoked since it was checked.
      if (revoked?.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
      stop = room.joinReader(client, plainFormat, { version: query.version, maxRate });
      states.joined(room);
    },
    say: async () => {
      throw new GjallarError('BAD_INPUT', 'A client that watches a state room sends nothing.');
    },
    leave: () => stop(),
  };
}
