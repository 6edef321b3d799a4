import { GjallarError } from '../../../base/errors.js';
import type { PlainMember } from '../../../io/plain/index.js';
import { atTime, type Identity } from '../../accounts/identity.js';
import type { ChatContext } from '../context.js';

/** A user on a plain WebSocket. */
export interface ChatMember extends PlainMember {
  readonly identity: Identity;
}

/** A member whose connection ends with its token. */
export function memberOf(
  { revoked }: ChatContext,
  identity: Identity,
  room: string | undefined,
  { enter, say, leave }: Pick<PlainMember, 'enter' | 'say' | 'leave'>,
): ChatMember {
  let cancelExpiry = () => {};
  return {
    room,
    identity,
    enter: async (client) => {
      // The token may have been revoked since it was checked.
      if (revoked?.isRevoked(identity)) throw new GjallarError('TOKEN_REVOKED');
      cancelExpiry = atTime(identity.expires, () => client.refuse('TOKEN_EXPIRED'));
      await enter(client);
    },
    say,
    leave: () => {
      cancelExpiry();
      leave();
    },
  };
}
