import { randomBytes } from 'node:crypto';
import { GjallarError } from '../../../base/errors.js';
import type { StateFormat } from '../../../features/state/members/format.js';
import { requireRate } from '../../../features/state/options.js';
import type { LocalStateRoom as StateRoom } from '../../../features/state/room.js';
import { requireRoom } from '../../accounts/identity.js';
import type { Member, PlainClient } from '../../plain/plain-socket.js';
import type { ChatContext } from '../context.js';
import { identify } from '../identify.js';
import { readRoom } from '../input.js';
import { pairsOf } from './pairs.js';
import type { Watcher } from './watchers.js';

/** How plain WebSockets get the changes of a room: each message is one text of JSON. */
const plainFormat: StateFormat = {
  name: 'plain',
  prefix: '',
  // Nothing that such a client sends is read, so it has no mark to acknowledge.
  encode: (chunk, { mark: _, ...meta }) => [`{"changes":[${pairsOf(chunk)}],${JSON.stringify(meta).slice(1)}`],
};

const EMPTY = '{"changes":[],"snapshot":true}';

/**
 * Admits a plain WebSocket that watches a state room.
 * @param query the parameters of the URL: `name` or `token`, `version` and `maxRate`
 * @throws GjallarError STATE_OFF, BAD_ROOM, BAD_NAME, BAD_INPUT, TOKEN_…, ROOM_FORBIDDEN
 */
export async function admitWatcher(
  context: ChatContext,
  givenRoom: string,
  query: Readonly<Record<string, string>>,
): Promise<Member> {
  const { states, accounts, revoked } = context;
  if (!states) throw new GjallarError('STATE_OFF');
  const room = readRoom(givenRoom);
  const maxRate = query.maxRate === undefined ? undefined : Number(query.maxRate);
  requireRate(maxRate);
  const identity = await identify(accounts, query, randomBytes(3).toString('hex'));
  requireRoom(identity.grant, 'join', room);
  let stop = () => {};
  return {
    room: undefined,
    identity,
    expires: identity.expires,
    enter: async (client) => {
      // The token may have been revoked since it was checked.
      if (revoked?.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
      const watcher = new PlainWatcher(client, { version: query.version, maxRate });
      const unfollow = states.rooms.watch(room, watcher);
      stop = () => {
        unfollow();
        watcher.leave();
      };
    },
    say: async () => {
      throw new GjallarError('BAD_INPUT', 'A client that watches a state room sends nothing.');
    },
    leave: () => stop(),
  };
}

class PlainWatcher implements Watcher {
  leave = (): void => {};

  constructor(
    private readonly client: PlainClient,
    private options: { version: string | undefined; maxRate: number | undefined },
  ) {}

  enter(room: StateRoom): void {
    this.leave = room.joinReader(this.client, plainFormat, this.options);
  }

  refuse(_room: StateRoom, { code }: GjallarError): void {
    this.client.refuse(code);
  }

  empty(): void {
    this.leave = () => {};
    this.options = { ...this.options, version: undefined };
    this.client.send([EMPTY]);
  }
}
