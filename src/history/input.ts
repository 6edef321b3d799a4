import { MAX_APPEND, MAX_NAME, MAX_PAGE, type NewMessage, type PageQuery } from './store.js';

/** Input that no store could keep is refused before it can share a transaction with anybody else's. */
export function checkAppend(conversation: string, messages: readonly NewMessage[]): void {
  checkName('conversation', conversation);
  if (messages.length > MAX_APPEND) throw new RangeError(`An append takes at most ${MAX_APPEND} messages.`);
  for (const message of messages) {
    checkName('from', message.from, 0);
    if (typeof message.text !== 'string') throw new TypeError('The text must be a string.');
    checkCount('at', message.at, 0);
    if (message.key !== undefined) checkName('key', message.key);
    if (message.claim) {
      checkName('claim', message.claim.name);
      checkCount('claim', message.claim.number, 1);
    }
  }
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
