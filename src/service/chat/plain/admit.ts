import { randomBytes } from 'node:crypto';
import { GjallarError } from '../../../base/errors.js';
import { decodeRoom } from '../../../io/http/index.js';
import type { PlainRoute } from '../../../io/plain/index.js';
import type { ChatContext } from '../context.js';
import { identify } from '../identify.js';
import { readRoom } from '../input.js';
import { admitWatcher } from '../state/watch.js';
import type { ChatMember } from './member.js';
import type { PlainMembers } from './members.js';

type PlainRequest = Parameters<PlainRoute<ChatMember>['admit']>[0];

/** Watches a state room. */
const STATE = /^\/api\/state\/([^/]+)$/;
/** Paths that the server uses itself. A room with such a name is reached by encoding it: `/%61pi` is the room `api`. */
const RESERVED = /^\/((socket\.io|api)(\/|$)|(healthz|readyz|metrics)$)/;

/**
 * Admits a plain WebSocket: at `ws://HOST/ROOM` to a room, and at `ws://HOST/api/state/ROOM` to the changes of a state room.
 * @throws GjallarError NOT_FOUND, BAD_ROOM, BAD_NAME, BAD_INPUT, TOKEN_…, ROOM_FORBIDDEN
 */
export async function admitPlain(
  context: ChatContext,
  members: PlainMembers,
  { url, _query: query }: PlainRequest,
): Promise<ChatMember> {
  const [path = ''] = url.split('?');
  const watched = STATE.exec(path)?.[1];
  if (watched === undefined && RESERVED.test(path)) throw new GjallarError('NOT_FOUND');
  const room = decodeRoom(watched ?? path.slice(1));
  readRoom(room);
  const identity = await identify(context.accounts, query, randomBytes(3).toString('hex'));
  return watched === undefined ? members.admit(context, room, identity) : admitWatcher(context, room, identity, query);
}
