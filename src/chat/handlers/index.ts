import type { ChatContext } from '../context.js';
import type { ChatSocket, Replies } from '../protocol.js';
import { unwatch, watch } from '../state/watch.js';
import { direct } from './direct.js';
import { history } from './history.js';
import { join } from './join.js';
import { leave } from './leave.js';
import { message } from './message.js';
import { token } from './token.js';
import { who } from './who.js';

/**
 * Handles one event of a client. The input is unchecked. Resolves with the fields of the reply besides `ok`; on failure,
 * rejects with a GjallarError.
 */
export type Handler<Event extends keyof Replies = keyof Replies> = (
  context: ChatContext,
  socket: ChatSocket,
  input: unknown,
) => Promise<Replies[Event]>;

/**
 * Handlers that are rejected while too many events of their client have no reply yet. The others store messages, which
 * have bounds of their own, or cost next to nothing.
 */
export const boundedHandlers: ReadonlySet<unknown> = new Set([join, history, who, token, watch]);

/** The events whose reply is `{ ok, … }`: all events except `echo`. */
export const handlers: { readonly [Event in keyof Replies]: Handler<Event> } = {
  join,
  leave,
  message,
  direct,
  history,
  who,
  token,
  watch,
  unwatch,
};
