import type { ChatContext } from '../context.js';
import type { ChatSocket } from '../protocol.js';
import { direct } from './direct.js';
import { history } from './history.js';
import { join } from './join.js';
import { leave } from './leave.js';
import { message } from './message.js';
import { token } from './token.js';
import { who } from './who.js';

/** Handles one event of a client. Resolves with what the reply carries besides `ok`; a GjallarError is a failure. */
export type Handler = (context: ChatContext, socket: ChatSocket, input: unknown) => Promise<object>;

/** The events that are answered with `{ ok, … }`. */
export const handlers = { join, leave, message, direct, history, who, token } as const satisfies Record<
  string,
  Handler
>;
