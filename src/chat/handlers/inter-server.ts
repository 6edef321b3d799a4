import { z } from 'zod';
import { thisProcess } from '../../base/process.js';
import { presenceMessage } from '../../presence/message-schema.js';
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

type Listeners = { [event in keyof InterServerEvents]: InterServerEvents[event] };

/** The schemas of each event's values. The values themselves are passed on as they came. */
const schemas: Record<keyof Listeners, readonly z.ZodType[]> = {
  roster: [presenceMessage],
  news: [z.array(z.looseObject({ key, messages: z.array(stored).min(1) }))],
  heads: [z.array(z.looseObject({ key, first: position, last: position }))],
  revoked: [],
};

/** Listens to the other workers' chats. Malformed events are dropped. */
export function listenToChats(io: ChatServer, listeners: Listeners): void {
  for (const event of Object.keys(schemas) as (keyof Listeners)[]) {
    const listener = listeners[event] as (...values: unknown[]) => void;
    const onEvent = (...values: unknown[]) => {
      const problem = problemWith(schemas[event], values);
      if (problem === undefined) listener(...values);
      else thisProcess.reports.malformed('application', `${event}: ${problem}`);
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
