import fc from 'fast-check';
import { Connection, request } from '../../../harness/connection.js';
import { expectSame } from '../mismatch.js';
import { decoded, isRoom, lengthOf, publishReply } from '../oracle.js';
import { fields, hostileNames, json, mutated, oneOf, room, text, upTo } from '../values.js';

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

/** What a call may be: how often, of what it is made, and the request with the codes (or statuses) that are right. */
const kinds = {
  publish: {
    weight: 3,
    of: { path, body, key, caller },
    plan(call, context) {
      const headers = headersFor(call, context);
      // Of each lane its own, so that the lane knows which were there before.
      const key = call.key && `${context.lane}${call.key}`;
      if (key !== undefined) headers['Idempotency-Key'] = key;
      const want = REFUSED[call.caller] ?? publishCode(decoded(call.path), { ...call, key }, context);
      return { bytes: request('POST', urlOf(call), headers, call.body), want: [want].flat() };
    },
  },
  read: {
    weight: 2,
    of: {
      ...{ path, caller },
      query: fc.record({ after: number, before: number, limit: number, epoch: text }, { requiredKeys: [] }),
    },
    plan(call, context) {
      const query = new URLSearchParams(
        Object.entries(call.query).map(([name, value]) => [name, value.slice(0, 140).toWellFormed()]),
      );
      // Longer than the header of a request may be.
      if (String(query).length > 2_500) query.delete('epoch');
      const bytes = request('GET', `${urlOf(call)}?${query}`, headersFor(call, context));
      return { bytes, want: [REFUSED[call.caller] ?? readCode(decoded(call.path), query, call, context)] };
    },
  },
  method: {
    weight: 1,
    of: { path, method: fc.constantFrom('PUT', 'DELETE', 'PATCH', 'OPTIONS') },
    // Deleting is the operator's, who has no account here.
    plan: (call) => ({
      bytes: request(call.method, urlOf(call)),
      want: [call.method === 'DELETE' ? 'ADMIN_OFF' : 'METHOD_NOT_ALLOWED'],
    }),
  },
  file: {
    weight: 2,
    of: { path: oneOf(fc.constantFrom(...hostileNames), text, fc.webPath()) },
    plan(call, { files }) {
      const path = `/${encodeURI(call.path.slice(0, 300).toWellFormed()).replace('#', '%23').replace(/^\/+/, '')}`;
      const [name] = path.split(/[?#]/);
      // Only what is in the folder is there; and the room's own way in is no file.
      const want = files.has(name) ? [200] : name.startsWith('/api/') ? [401, 404, 405] : [404];
      return { bytes: request('GET', path), want };
    },
  },
};

const callOf = ([kind, { weight: share, of }]) => [share, fc.record({ kind: fc.constant(kind), ...of })];
export const weight = 14;
export const arbitrary = upTo(40, oneOf(...Object.entries(kinds).map(callOf)));

const urlOf = ({ path: room }) => `/api/rooms/${room}/messages`;
const REFUSED = { none: 'UNAUTHORIZED', junk: 'UNAUTHORIZED', wrong: 'TOKEN_INVALID' };

function headersFor({ caller: who }, { apiKey, user }) {
  const bearers = { wrong: 'Bearer wrong', junk: 'Basic a2V5', key: `Bearer ${apiKey}`, token: `Bearer ${user.token}` };
  return who === 'none' ? {} : { Authorization: bearers[who] };
}

export async function play(calls, context) {
  let connection = new Connection(context.port);
  context.use(() => connection.end());
  for (const call of calls) {
    connection = connection.reusable(context.port);
    const { bytes, want } = kinds[call.kind].plan(call, context);
    const response = await connection.write(bytes).response();
    if (!response) throw new Error(`no answer to ${bytes.toString('latin1', 0, 300)}`);
    const got = call.kind === 'file' ? response.status : codeOf(response);
    expectSame(want.includes(got) ? got : [got, response.status], got, [bytes.toString('latin1', 0, 500), want]);
  }
  return calls.length;
}

function codeOf({ status, body: text }) {
  const reply = JSON.parse(text);
  if (reply.ok !== (status === 200)) throw new Error(`status ${status} with ${text}`);
  return reply.ok ? 'ok' : reply.code;
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
