// What the documentation says of input, written down a second time: the fuzzer compares the server with this, and neither has
// seen the other's code.

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what names must not contain
const CONTROL = /[\u0000-\u001f\u007f]/;
/** In characters of Unicode. */
export const lengthOf = (value) => [...value].length;
const isText = (value, most) =>
  typeof value === 'string' && value.length >= 1 && lengthOf(value) <= most && value.isWellFormed();
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
export const own = (value, name) => (Object.hasOwn(value, name) ? value[name] : undefined);

export const isRoom = (value) => isText(value, 128) && !CONTROL.test(value);
const INVISIBLE = /[\u0080-\u009f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const EMOJI = /(\p{Extended_Pictographic})\ufe0f/gu;
const isVisible = (value) =>
  !INVISIBLE.test(value.replace(EMOJI, (all, symbol) => (/\p{Emoji_Presentation}/u.test(symbol) ? all : symbol)));
const isName = (value) =>
  typeof value === 'string' && isVisible(value) && isText(value.trim(), 64) && !CONTROL.test(value.trim());
const isMessage = (value) => isText(value, 10_000);
const isCount = (value) => value === undefined || (Number.isSafeInteger(value) && value >= 0);

function isPage(input) {
  const [epoch, after, before, limit] = ['epoch', 'after', 'before', 'limit'].map((name) => own(input, name));
  return (
    (epoch === undefined || (typeof epoch === 'string' && lengthOf(epoch) <= 128)) &&
    isCount(after) &&
    isCount(before) &&
    (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1 && limit <= 1000))
  );
}

/**
 * The reply to an event: `ok`, or the code of the error.
 * @param {{ joined: Set<string>, may: (right: 'join' | 'publish', room: string) => boolean }} state changes with the event
 */
export function replyTo(event, input, state) {
  const { joined, may } = state;
  if (event === 'token') return tokenReply(input);
  if (['join', 'leave', 'who'].includes(event)) {
    if (!isRoom(input)) return 'BAD_ROOM';
    if (event === 'leave') joined.delete(input);
    if (event === 'leave') return 'ok';
    if (!may('join', input)) return 'ROOM_FORBIDDEN';
    if (event === 'who' || joined.has(input)) return 'ok';
    if (joined.size >= 100) return 'TOO_MANY_ROOMS';
    joined.add(input);
    return 'ok';
  }
  if (!isObject(input)) return 'BAD_INPUT';
  const [room, text, to, other] = ['room', 'text', 'to', 'with'].map((name) => own(input, name));
  if (event === 'direct') return !isName(to) ? 'BAD_NAME' : isMessage(text) ? 'ok' : 'BAD_TEXT';
  if (event === 'history') {
    if (!isPage(input)) return 'BAD_PAGE';
    if (other !== undefined) return isName(other) ? 'ok' : 'BAD_NAME';
    return !isRoom(room) ? 'BAD_ROOM' : may('join', room) ? 'ok' : 'ROOM_FORBIDDEN';
  }
  if (!isRoom(room)) return 'BAD_ROOM';
  if (!isMessage(text)) return 'BAD_TEXT';
  if (!joined.has(room)) return 'NOT_IN_ROOM';
  return may('publish', room) ? 'ok' : 'ROOM_FORBIDDEN';
}

/** The reply to a token that no user has. @param {{ token: string, code: string }[]} known those with a code of their own */
export function tokenReply(token, known = []) {
  if (token === undefined || token === null || token === '') return 'TOKEN_MISSING';
  return known.find((one) => one.token === token)?.code ?? 'TOKEN_INVALID';
}

/** The reply to `POST /api/rooms/ROOM/messages` with the API key. */
export function publishReply(room, body, key) {
  if (!isRoom(room)) return 'BAD_ROOM';
  const value = parse(body);
  if (value === undefined) return 'BAD_JSON';
  if (!isObject(value)) return 'BAD_INPUT';
  const messages = own(value, 'messages');
  if (messages !== undefined) {
    const isBatch =
      Array.isArray(messages) && messages.length >= 1 && messages.length <= 100 && messages.every(isObject);
    if (!isBatch) return 'BAD_BATCH';
  }
  if (key !== undefined && !/^[\x20-\x7e]{1,200}$/.test(key)) return 'BAD_KEY';
  for (const one of messages ?? [value]) {
    const from = own(one, 'from');
    if (from !== undefined && !isName(from)) return 'BAD_NAME';
    if (!isMessage(own(one, 'text'))) return 'BAD_TEXT';
  }
  return 'ok';
}

function parse(body) {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** A percent-encoded part of a path as text; undefined where it is none. */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** The number of the handshake error that a request gets, or 'ok'. Source: Engine.IO v4, as engine.io answers. */
export function handshakeReply(method, parameters, isUpgrade) {
  const { transport, sid, EIO } = parameters;
  if (transport !== 'polling' && transport !== 'websocket') return 0;
  if (sid) return 1;
  if (method !== 'GET') return 2;
  if ((transport === 'websocket') !== isUpgrade) return 3;
  return EIO === '4' ? 'ok' : 5;
}
