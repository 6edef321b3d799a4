import fc from 'fast-check';
import { Connection, request } from '../../../harness/connection.js';
import { expectSame } from '../mismatch.js';
import { decoded, isRoom, lengthOf, publishReply } from '../oracle.js';
import { fields, hostileNames, json, mutated, oneOf, room, text } from '../values.js';

/** Calls of the HTTP API and requests for files, with whatever may stand in path, query, header or body. */

const message = fields({ text, from: text });
const body = oneOf(
  [3, message.map((value) => JSON.stringify(value))],
  [2, fields({ messages: fc.array(message, { maxLength: 3 }) }).map((value) => JSON.stringify(value))],
  [2, mutated(message.map((value) => JSON.stringify(value)))],
  [1, json.map((value) => JSON.stringify(value))],
  [1, fc.uint8Array({ minLength: 1, maxLength: 80 }).map((bytes) => Buffer.from(bytes))],
  [1, fc.constantFrom('', `{"text":"${'x'.repeat(100_000)}"}`, '\ufeff{"text":"x"}', '{"text":"x"}}', '[[[[')],
);
const encoded = room.map((name) => encodeURIComponent(name.slice(0, 140).toWellFormed()));
const path = oneOf(
  [4, encoded.filter((name) => name !== '')],
  [1, fc.constantFrom('%', '%zz', '%c0%ae', '%ff', '%00', '%2e%2e%2f', '%252e', '..%2f..', '%u0041')],
);
const key = oneOf(
  [3, fc.constant(undefined)],
  fc.string({ minLength: 1, maxLength: 220 }).filter((value) => value.trim() === value),
);
const caller = fc.constantFrom('key', 'key', 'key', 'key', 'none', 'wrong', 'token', 'junk');
const number = oneOf(fc.nat({ max: 2000 }).map(String), text);

export const weight = 14;
export const arbitrary = fc.array(
  oneOf(
    [3, fc.record({ kind: fc.constant('publish'), path, body, key, caller })],
    [
      2,
      fc.record({
        kind: fc.constant('read'),
        path,
        caller,
        query: fc.record({ after: number, before: number, limit: number, epoch: text }, { requiredKeys: [] }),
      }),
    ],
    [
      1,
      fc.record({
        kind: fc.constant('method'),
        path,
        method: fc.constantFrom('PUT', 'DELETE', 'PATCH', 'OPTIONS'),
      }),
    ],
    [
      2,
      fc.record({
        kind: fc.constant('file'),
        path: oneOf(fc.constantFrom(...hostileNames), text, fc.webPath()),
      }),
    ],
  ),
  { minLength: 1, maxLength: 40, size: 'max' },
);

const headersOf = { none: {}, wrong: { Authorization: 'Bearer wrong' }, junk: { Authorization: 'Basic a2V5' } };

export async function play(calls, context) {
  let connection = new Connection(context.port);
  try {
    for (const call of calls) {
      connection = connection.reusable(context.port);
      const { bytes, want } = plan(call, context);
      const response = await connection.write(bytes).response();
      if (!response) throw new Error(`no answer to ${bytes.toString('latin1', 0, 300)}`);
      const got = call.kind === 'file' ? response.status : codeOf(response);
      expectSame(want.includes(got) ? got : [got, response.status], got, [bytes.toString('latin1', 0, 500), want]);
    }
  } finally {
    connection.end();
  }
  return calls.length;
}

function codeOf({ status, body: text }) {
  const reply = JSON.parse(text);
  if (reply.ok !== (status === 200)) throw new Error(`status ${status} with ${text}`);
  return reply.ok ? 'ok' : reply.code;
}

/** The request, and which codes (or statuses) are right. */
function plan(call, context) {
  if (call.kind === 'file') {
    const path = `/${encodeURI(call.path.slice(0, 300).toWellFormed()).replace('#', '%23').replace(/^\/+/, '')}`;
    const [name] = path.split(/[?#]/);
    // Only what is in the folder is there; and the room's own way in is no file.
    return {
      bytes: request('GET', path),
      want: context.files.has(name) ? [200] : name.startsWith('/api/') ? [401, 404, 405] : [404],
    };
  }
  const url = `/api/rooms/${call.path}/messages`;
  if (call.kind === 'method') {
    // Deleting is the operator's, who has no account here.
    return { bytes: request(call.method, url), want: [call.method === 'DELETE' ? 'ADMIN_OFF' : 'METHOD_NOT_ALLOWED'] };
  }
  const headers = {
    ...(headersOf[call.caller] ?? {
      Authorization: `Bearer ${call.caller === 'key' ? context.apiKey : context.user.token}`,
    }),
  };
  // Of each lane its own, so that the lane knows which were there before.
  const key = call.key && `${context.lane}${call.key}`;
  if (key !== undefined) headers['Idempotency-Key'] = key;
  const refused = { none: 'UNAUTHORIZED', junk: 'UNAUTHORIZED', wrong: 'TOKEN_INVALID' }[call.caller];
  const room = decoded(call.path);
  if (call.kind === 'publish') {
    const bytes = request('POST', url, headers, call.body);
    return { bytes, want: [refused ?? publishCode(room, { ...call, key }, context)].flat() };
  }
  const query = new URLSearchParams(
    Object.entries(call.query).map(([name, value]) => [name, value.slice(0, 140).toWellFormed()]),
  );
  // Longer than the header of a request may be.
  if (String(query).length > 2_500) query.delete('epoch');
  return { bytes: request('GET', `${url}?${query}`, headers), want: [refused ?? readCode(room, query, call, context)] };
}

function publishCode(room, { body: sent, key: given, caller: who }, { user, maxPayload, keys }) {
  if (room === undefined || !isRoom(room)) return 'BAD_ROOM';
  // Without permission to publish, the body is not looked at.
  if (who === 'token' && !user.may('publish', room)) return 'ROOM_FORBIDDEN';
  const bytes = Buffer.from(sent);
  if (bytes.length > maxPayload) return 'BODY_TOO_LARGE';
  if (bytes.length === 0) return 'BAD_JSON';
  const code = publishReply(room, bytes, given);
  const isKnown = given !== undefined && code === 'ok' && keys.has(`${room}/${given}`);
  keys.add(`${room}/${given}`);
  // A short key may come again by chance, with other texts or the same.
  const right = isKnown ? [code, 'KEY_REUSED'] : [code];
  if (who !== 'token') return right;
  // A token allows no other sender name. The server checks that first, message by message.
  return ['ok', 'BAD_TEXT', 'BAD_NAME'].includes(code) ? ['BAD_NAME', 'BAD_TEXT', ...right] : right;
}

function readCode(room, query, { caller: who }, { user }) {
  if (room === undefined || !isRoom(room)) return 'BAD_ROOM';
  if (who === 'token' && !user.may('join', room)) return 'ROOM_FORBIDDEN';
  const isCount = (text) => text === null || /^\d{1,15}$/.test(text);
  const limit = query.get('limit');
  const isPage =
    isCount(query.get('after')) &&
    isCount(query.get('before')) &&
    isCount(limit) &&
    (limit === null || (limit >= 1 && limit <= 1000)) &&
    lengthOf(query.get('epoch') ?? '') <= 128;
  return isPage ? 'ok' : 'BAD_PAGE';
}
