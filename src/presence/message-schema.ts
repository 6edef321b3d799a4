import { z } from 'zod';

const count = z.int().min(0);
const node = z.string().min(1).max(128);
/** The names of a room's users, or only their number. */
const isUsers = (users: unknown) =>
  Number.isInteger(users) || (Array.isArray(users) && users.every((user) => typeof user === 'string'));
/** By room. Not a record of zod's, which passes over the room `__proto__`. */
const rooms = z.custom((value) => typeof value === 'object' && value !== null && Object.values(value).every(isUsers));

/** What another worker sends. Unknown fields pass: a newer version may send them during an upgrade. */
export const presenceMessage = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('changes'), node, sequence: count, rooms }),
  z.looseObject({ type: z.literal('state'), node, sequence: count, rooms }),
  z.looseObject({
    ...{ type: z.literal('heartbeat'), node, sequence: count },
    totals: z.looseObject({ clients: count, messages: count }),
  }),
  z.looseObject({ type: z.literal('request'), node, of: z.string().nullish() }),
  z.looseObject({ type: z.literal('bye'), node }),
]);
