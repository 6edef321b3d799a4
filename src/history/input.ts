import { bytesOf } from './page.js';
import {
  type AppendOptions,
  MAX_APPEND,
  MAX_ERASE,
  MAX_NAME,
  MAX_PAGE,
  type NewMessage,
  type PageQuery,
} from './store.js';

/** One append, as it waits for its batch. */
export interface AppendJob extends AppendOptions {
  conversation: string;
  messages: readonly NewMessage[];
}

/** How many bytes weigh as much in a batch as one short message. */
const BYTES_PER_WEIGHT = 2048;

/** How much an append adds to the size of its batch. Its time depends on the number of messages and on their bytes. */
export function weightOf({ messages }: AppendJob): number {
  return Math.max(messages.length, Math.ceil(bytesOf(messages) / BYTES_PER_WEIGHT));
}

/** Rejects input that no store could keep, before it can share a transaction with other appends. */
export function checkAppend({ conversation, messages, key }: AppendJob): void {
  checkName('conversation', conversation);
  if (key !== undefined) checkName('key', key);
  if (messages.length > MAX_APPEND) throw new RangeError(`An append takes at most ${MAX_APPEND} messages.`);
  for (const message of messages) {
    checkName('from', message.from, 0);
    if (typeof message.text !== 'string') throw new TypeError('The text must be a string.');
    checkCount('at', message.at, 0);
  }
}

export function checkErase(conversation: string, epoch: string, offsets: readonly number[]): void {
  checkName('conversation', conversation);
  checkName('epoch', epoch);
  if (offsets.length > MAX_ERASE) throw new RangeError(`At most ${MAX_ERASE} messages are erased at once.`);
  for (const offset of offsets) checkCount('offset', offset, 1);
}

export function checkQuery(conversation: string, query: PageQuery): void {
  checkName('conversation', conversation);
  checkCount('limit', query.limit, 1, MAX_PAGE);
  if (query.epoch !== undefined && typeof query.epoch !== 'string') throw new TypeError('epoch must be a string.');
  if (query.after !== undefined) checkCount('after', query.after, 0);
  if (query.before !== undefined) checkCount('before', query.before, 0);
}

export function checkName(what: string, name: string, least = 1): void {
  if (typeof name !== 'string') throw new TypeError(`${what} must be a string.`);
  if (name.length < least || name.length > MAX_NAME) {
    throw new RangeError(`${what} must have ${least} to ${MAX_NAME} characters.`);
  }
}

export function checkCount(what: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new RangeError(`${what} must be an integer from ${least} to ${most}.`);
  }
}
