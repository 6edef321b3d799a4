import type { ChatContext } from '../context.js';
import type { ChatSocket, ClientEvents, ReplyCallback } from '../protocol.js';
import { direct } from './direct.js';
import { history } from './history.js';
import { join } from './join.js';
import { leave } from './leave.js';
import { message } from './message.js';
import { token } from './token.js';
import { who } from './who.js';

/** The events that are answered with `{ ok, … }`: all but `echo`. */
type AnsweredEvent = Exclude<keyof ClientEvents, 'echo'>;

/** What the reply to an event carries besides `ok`. */
type ReplyOf<Event extends keyof ClientEvents> = ClientEvents[Event] extends (
  input: never,
  reply?: ReplyCallback<infer Answer>,
) => void
  ? Answer
  : never;

/**
 * Handles one event of a client. The input is whatever the client has sent. Resolves with what the reply carries besides
 * `ok`; a GjallarError is a failure.
 */
export type Handler<Event extends keyof ClientEvents = AnsweredEvent> = (
  context: ChatContext,
  socket: ChatSocket,
  input: unknown,
) => Promise<ReplyOf<Event>>;

export const handlers: { readonly [Event in AnsweredEvent]: Handler<Event> } = {
  join,
  leave,
  message,
  direct,
  history,
  who,
  token,
};
