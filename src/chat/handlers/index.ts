import type { ChatContext } from '../context.js';
import type { ChatSocket, Replies } from '../protocol.js';
import { direct } from './direct.js';
import { history } from './history.js';
import { join } from './join.js';
import { leave } from './leave.js';
import { message } from './message.js';
import { token } from './token.js';
import { who } from './who.js';

/**
 * Handles one event of a client. The input is whatever the client has sent. Resolves with what the reply carries besides
 * `ok`; a GjallarError is a failure.
 */
export type Handler<Event extends keyof Replies = keyof Replies> = (
  context: ChatContext,
  socket: ChatSocket,
  input: unknown,
) => Promise<Replies[Event]>;

/** The events that are answered with `{ ok, … }`: all but `echo`. */
export const handlers: { readonly [Event in keyof Replies]: Handler<Event> } = {
  join,
  leave,
  message,
  direct,
  history,
  who,
  token,
};
