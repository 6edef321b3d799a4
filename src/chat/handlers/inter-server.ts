import { z } from 'zod';
import type { ChatServer, InterServerEvents } from '../protocol.js';

/**
 * What the chats of different workers tell each other. It comes over the backplane, where other programs may publish
 * too, so it is checked. Unknown fields pass: a newer version may send them during an upgrade.
 */

const count = z.int().min(0);
const position = z.looseObject({ epoch: z.string(), offset: count });
const said = z.looseObject({ from: z.string(), text: z.string(), at: z.number() });
const stored = z.looseObject({ ...said.shape, ...position.shape });
const key = z.string().regex(/^(room:|direct:)/);

const node = z.string().min(1).max(128);
/** The names of a room's users, or only their number. */
const isUsers = (users: unknown) =>
  Number.isInteger(users) || (Array.isArray(users) && users.every((user) => typeof user === 'string'));
/** By room. Not a record of zod's, which passes over the room `__proto__`. */
const rooms = z.custom((value) => typeof value === 'object' && value !== null && Object.values(value).every(isUsers));

const roster = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('changes'), node, sequence: count, rooms }),
  z.looseObject({ type: z.literal('state'), node, sequence: count, rooms }),
  z.looseObject({
    ...{ type: z.literal('heartbeat'), node, sequence: count },
    totals: z.looseObject({ clients: count, messages: count }),
  }),
  z.looseObject({ type: z.literal('request'), node, of: z.string().nullish() }),
  z.looseObject({ type: z.literal('bye'), node }),
]);

type Listeners = { [event in keyof InterServerEvents]: InterServerEvents[event] };

/** The schemas of each event's values. The values themselves are passed on as they came. */
const schemas: Record<keyof Listeners, readonly z.ZodType[]> = {
  roster: [roster],
  news: [z.array(z.looseObject({ key, messages: z.array(stored).min(1) }))],
  heads: [z.array(z.looseObject({ key, first: position, last: position }))],
  said: [z.string().min(1), z.array(said)],
};

/** Listens to the other workers' chats. Malformed events are dropped, and `onMalformed` is called. */
export function listenToChats(io: ChatServer, listeners: Listeners, onMalformed: (reason: string) => void): void {
  for (const event of Object.keys(schemas) as (keyof Listeners)[]) {
    const listener = listeners[event] as (...values: unknown[]) => void;
    const onEvent = (...values: unknown[]) => {
      const problem = problemWith(schemas[event], values);
      if (problem === undefined) listener(...values);
      else onMalformed(`${event}: ${problem}`);
    };
    io.on(event, onEvent as never);
  }
}

function problemWith(expected: readonly z.ZodType[], values: readonly unknown[]): string | undefined {
  for (const [index, schema] of expected.entries()) {
    const [issue] = schema.safeParse(values[index]).error?.issues ?? [];
    if (issue) return `${issue.path.join('.')} ${issue.message}`.trim();
  }
  return undefined;
}
