import { z } from 'zod';
import { MalformedMessage } from '../errors.js';
import type { PresenceMessage } from './messages.js';

/** The names of a room's users, or only their number. */
const isUsers = (users: unknown) =>
  Number.isInteger(users) || (Array.isArray(users) && users.every((user) => typeof user === 'string'));
/** By room. Not a record of zod's, which passes over the room `__proto__`. */
const rooms = z.custom((value) => typeof value === 'object' && value !== null && Object.values(value).every(isUsers));

const message = z.looseObject({ type: z.enum(['changes', 'state']), rooms });

/**
 * What another worker sends. Unknown fields pass: a newer version may send them during an upgrade.
 * @throws MalformedMessage
 */
export function checkedMessage(value: unknown): PresenceMessage {
  const [issue] = message.safeParse(value).error?.issues ?? [];
  if (issue) throw new MalformedMessage(`${issue.path.join('.')} ${issue.message}`.trim());
  return value as PresenceMessage;
}
