import { z } from 'zod';
import type { ErrorCode } from '../../base/errors.js';
import type { Route } from '../api/api.js';
import { type ApiInfo, type Description, openApiOf } from '../api/openapi.js';
import { statsQuery } from '../api/operator.js';
import { newMessage, newMessages, pageQuery, postKey, revocation, roomName, userName } from './input.js';

const count = (meaning: string) => z.int().min(0).describe(meaning);
const time = (meaning: string) => z.int().min(0).describe(`${meaning}, in ms since 1970.`);
const epoch = z.string();

const position = {
  epoch: epoch.optional(),
  offset: z.int().min(1).optional(),
  duplicate: z
    .literal(true)
    .optional()
    .describe('True if an earlier request with this key already stored the message.'),
};
const message = z.object({
  ...{ room: z.string(), from: z.string(), text: z.string() },
  at: time('When the server accepted the message'),
  ...{ epoch, offset: z.int().min(1) },
  deleted: z.literal(true).optional().describe('The operator has deleted the message: "from" and "text" are empty.'),
});
const former = z.object({
  epoch,
  offset: count('Up to this offset, the messages of the epoch are the messages of the present log.'),
  kept: z.boolean().describe('False if messages may have been lost when the epoch ended.'),
});
const newest = count('The offset of the message, or of the newest message of the room.');
const erased = {
  deleted: count('Messages of the history that had a text until now.'),
  archived: count('Messages of the archive that had a text until now. Most messages are in both.'),
};
const reached = {
  reached: z.object({ workers: count('Workers that have acted.'), machines: count('Machines that have acted.') }),
  complete: z.boolean().describe('False if a worker or machine did not answer. Then repeat the request.'),
};
const wasThere = { deleted: z.boolean().describe('Whether there was anything to delete.') };
const kept = z.object({
  id: z.string().describe('"jti:…", "user:…" or "all".'),
  before: time('Tokens issued before this time are revoked').optional(),
  at: time('Time of the revocation'),
  expires: time('Time at which the server forgets the revocation'),
});

/** What callers with the API key or a token can get. */
const user = (...errors: ErrorCode[]) => ({
  security: ['apiKey'],
  errors: [
    ...(['API_OFF', 'UNAUTHORIZED', 'TOKEN_INVALID', 'TOKEN_EXPIRED', 'TOKEN_REVOKED', 'TOKEN_ISSUER'] as const),
    ...(['TOKEN_AUDIENCE', 'ACCOUNTS_UNAVAILABLE', 'BAD_ROOM', 'ROOM_FORBIDDEN', 'RATE_LIMITED', 'INTERNAL'] as const),
    ...errors,
  ],
});
/** What the operator can get. */
const operator = (...errors: ErrorCode[]) => ({
  security: ['operator'],
  errors: [
    ...(['ADMIN_OFF', 'ADMIN_ONLY', 'ORIGIN_FORBIDDEN', 'RATE_LIMITED', 'METHOD_NOT_ALLOWED', 'INTERNAL'] as const),
    ...errors,
  ],
});
const onlyOperator = (about: string) =>
  `Only the operator has access; without ADMIN_USER the path is off. ${about}`.trim();

const info: ApiInfo = {
  description:
    'Publishes messages to the rooms of a gjallar server, reads their history, changes state rooms, and reports statistics to the operator. Publishing and reading require a server with API_KEY or with user tokens (JWT_SECRET or JWKS_URL).',
  security: {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      description:
        "The server's API_KEY, which allows everything under any name; or a user's token, which allows what its claims state, under the user's own identity (the claim that JWT_USER_CLAIM names). A token that limits the rooms to join, and has no list of rooms to publish to, allows publishing to the rooms that it may join.",
    },
    operator: { type: 'http', scheme: 'basic', description: 'ADMIN_USER and ADMIN_PASSWORD, if they are set.' },
  },
  parameters: {
    room: roomName.describe("The room's name, percent-encoded."),
    key: z.string().min(1).max(256).describe('The key, percent-encoded; up to 256 bytes.'),
    offset: z.int().min(1).describe('Offset of the message.'),
    user: userName.describe('Name of the user, percent-encoded.'),
    id: z.string().describe('Id of the revocation, percent-encoded.'),
  },
};

/** Every route of the API. What callers send is described by the schemas that check it. */
const operations: Record<Route, Description> = {
  'GET /api/rooms/{room}/messages': {
    id: 'readMessages',
    summary: "Reads a page of a room's history, oldest message first.",
    query: pageQuery,
    reply: [
      'The page.',
      {
        messages: z.array(message),
        epoch,
        offset: count('The newest offset of the room.'),
        complete: z.boolean().describe('False if a part of the requested messages no longer exists.'),
        former: z
          .array(former)
          .optional()
          .describe('If the request named another epoch: the earlier epochs that the log continues, newest first.'),
      },
    ],
    ...user('BAD_PAGE', 'HISTORY_OFF', 'HISTORY_UNAVAILABLE', 'OVERLOADED'),
  },
  'POST /api/rooms/{room}/messages': {
    id: 'publish',
    summary:
      'Publishes one message or a batch to a room. A successful response means that the messages are stored, and are being delivered to the members.',
    about:
      'The server stores all messages of a batch or none, at consecutive offsets. After HISTORY_UNCERTAIN, it may have stored them: repeat the request with the same key.',
    headers: {
      'Idempotency-Key': postKey.describe(
        'Identifies this request within the room. A request that is repeated with the same key is stored once, and returns the positions of the first request. A request with the same key and different messages is rejected. The server remembers the key for HISTORY_TTL.',
      ),
    },
    body: z.union([newMessage, newMessages]),
    reply: [
      'The position of the message, or of each message of the batch; empty if the server stores no messages.',
      [position, { messages: z.array(z.object(position)) }],
    ],
    ...user(
      ...([
        'BAD_JSON',
        'BAD_INPUT',
        'BAD_BATCH',
        'BAD_TEXT',
        'BAD_NAME',
        'BAD_KEY',
        'KEY_REUSED',
        'OVERLOADED',
      ] as const),
      ...(['BODY_TOO_LARGE', 'HISTORY_OFF', 'HISTORY_REFUSED', 'HISTORY_UNAVAILABLE', 'HISTORY_UNCERTAIN'] as const),
    ),
  },
  'DELETE /api/rooms/{room}/messages': {
    id: 'deleteRoomMessages',
    summary: 'Deletes all messages of a room, in the history and the archive.',
    about: onlyOperator(
      'The positions stay, and messages that are posted later follow them. Members receive "deleted". You can repeat the request safely.',
    ),
    reply: ['The messages are deleted.', { epoch, offset: newest, ...erased }],
    ...operator('BAD_ROOM', 'HISTORY_OFF', 'HISTORY_UNAVAILABLE', 'HISTORY_REFUSED'),
  },
  'GET /api/state/{room}': {
    id: 'readState',
    summary: 'Reads all keys of a state room.',
    about:
      'The server sends the response as fast as the caller reads it. A key that changes meanwhile can occur twice; the later value is newer.',
    reply: [
      'The snapshot.',
      {
        changes: z
          .array(z.tuple([z.string(), z.unknown().optional()]))
          .describe('Lists of a key and its value, or of the key alone if it was deleted.'),
        version: z.string().describe('Pass this version when you watch the room, to continue without a gap.'),
      },
    ],
    ...user('STATE_OFF', 'NOT_FOUND'),
  },
  'DELETE /api/state/{room}': {
    id: 'deleteStateRoom',
    summary: 'Deletes all keys of a state room, and the room.',
    reply: ['The room does not exist any more.', wasThere],
    ...user('STATE_OFF', 'OVERLOADED'),
  },
  'PUT /api/state/{room}/{key}': {
    id: 'setState',
    summary: 'Sets a key of a state room. Creates the room if it does not exist.',
    body: z.unknown().describe('Any JSON value.'),
    reply: ['The key has this value.'],
    ...user('STATE_OFF', 'BAD_JSON', 'BAD_STATE_KEY', 'BAD_STATE_VALUE', 'BODY_TOO_LARGE', 'OVERLOADED', 'STATE_FULL'),
  },
  'PATCH /api/state/{room}/{key}': {
    id: 'patchState',
    summary: 'Changes fields of a key whose value is an object, or of a key without a value.',
    body: z.looseObject({}).describe('The fields that change.'),
    reply: ['The key has these fields.'],
    ...user(
      ...(['STATE_OFF', 'BAD_JSON', 'BAD_INPUT', 'BAD_STATE_KEY', 'BAD_STATE_VALUE', 'BODY_TOO_LARGE'] as const),
      ...(['STATE_PATCH_SIZE', 'OVERLOADED', 'STATE_FULL'] as const),
    ),
  },
  'DELETE /api/state/{room}/{key}': {
    id: 'deleteState',
    summary: 'Deletes a key of a state room.',
    reply: ['The key has no value any more.', wasThere],
    ...user('STATE_OFF', 'BAD_STATE_KEY', 'OVERLOADED'),
  },
  'GET /api/stats': {
    id: 'readStats',
    summary: 'Counts clients, messages, rooms and their members on all workers and machines.',
    about:
      'If ADMIN_USER is set, only the operator has access. Otherwise access is public, and the response lists rooms only if the server requires no tokens from its users.',
    query: statsQuery,
    reply: [
      'The counts, at most a few seconds old.',
      {
        totals: z.object({
          workers: count('Number of workers on all machines.'),
          clients: count('Number of connected clients.'),
          messages: count('Messages published since the current workers started.'),
          rooms: count('Number of rooms with at least one member.'),
        }),
        rooms: z
          .array(
            z.object({ room: z.string(), members: count('Number of users in the room, on all workers and machines.') }),
          )
          .optional()
          .describe('The rooms with the most members, the largest first; absent if room names are not public.'),
      },
    ],
    security: ['operator'],
    errors: ['BAD_PAGE', 'ADMIN_ONLY', 'RATE_LIMITED', 'METHOD_NOT_ALLOWED', 'INTERNAL'],
  },
  'POST /api/drain': {
    id: 'drain',
    summary:
      'Drains this machine: disconnects its clients so that they reconnect to other machines, and makes /readyz report "draining". SIGUSR2 has the same effect.',
    about: onlyOperator(
      'The server disconnects clients in random order, spread over DRAIN_TIMEOUT. It serves clients that still connect, and disconnects them in the next round. Repeated calls change nothing. A reload (SIGHUP) ends the drain.',
    ),
    status: 202,
    reply: [
      'The drain was requested; the primary passes it on to the workers.',
      { state: z.literal('draining'), over: count('Duration of a round in ms (DRAIN_TIMEOUT).') },
    ],
    ...operator(),
  },
  'DELETE /api/rooms/{room}/messages/{offset}': {
    id: 'deleteMessage',
    summary: 'Deletes one message of a room, in the history and the archive.',
    about: onlyOperator(
      'The position of the message stays. Members receive "deleted". You can repeat the request safely.',
    ),
    query: z.object({
      epoch: pageQuery.shape.epoch.describe(
        'The epoch of the offset. If the room has another epoch now, the request gets the status 404.',
      ),
    }),
    reply: ['The message is deleted.', { epoch, offset: newest }],
    ...operator('BAD_ROOM', 'NOT_FOUND', 'HISTORY_OFF', 'HISTORY_UNAVAILABLE', 'HISTORY_REFUSED'),
  },
  'DELETE /api/users/{user}/messages': {
    id: 'deleteUserMessages',
    summary:
      'Deletes all messages that a user has written, to rooms and to other users, in the history and the archive.',
    about: onlyOperator(
      'The positions stay. Readers receive "deleted". The server reads the whole history and the whole archive. You can repeat the request safely.',
    ),
    reply: ['The messages are deleted.', erased],
    ...operator('BAD_NAME', 'BAD_ROOM', 'HISTORY_OFF', 'HISTORY_UNAVAILABLE', 'HISTORY_REFUSED'),
  },
  'GET /api/users/{user}/export': {
    id: 'exportUser',
    summary: 'Exports the messages that a user has written, and the direct messages that the user has received.',
    about: onlyOperator(
      'The response has one JSON object per line. The last line is { "end": true, "lines": … }; if it is missing, the export is incomplete. A message that is archived during the export may appear twice, with the same position.',
    ),
    contentType: 'application/x-ndjson',
    reply: ['The messages, from the archive and the history.'],
    ...operator('BAD_NAME', 'BAD_ROOM', 'HISTORY_OFF', 'HISTORY_UNAVAILABLE', 'HISTORY_REFUSED'),
  },
  'POST /api/tokens/revoke': {
    id: 'revokeTokens',
    summary: 'Revokes one token, all tokens of a user, or all tokens that were issued before a time.',
    about: onlyOperator(
      'Connections with such tokens end on all workers and machines. The claim "iat" says when a token was issued. A token without it, or with a time more than a minute in the future, counts as issued in 1970. A repeated request can extend an earlier revocation, and never narrows it.',
    ),
    body: revocation,
    reply: ['The tokens are revoked.', { revocation: kept }],
    ...operator(
      ...(['BAD_INPUT', 'BAD_NAME', 'BAD_JSON', 'BODY_TOO_LARGE', 'TOKENS_OFF', 'HISTORY_UNAVAILABLE'] as const),
      'REVOCATIONS_FULL',
    ),
  },
  'GET /api/tokens/revocations': {
    id: 'listRevocations',
    summary: 'Lists the revocations.',
    about: onlyOperator(''),
    reply: [
      'The revocations.',
      { revocations: z.array(kept), max: count('Maximum number of revocations that the server keeps.') },
    ],
    ...operator('TOKENS_OFF', 'HISTORY_UNAVAILABLE'),
  },
  'POST /api/acknowledge-loss': {
    id: 'acknowledgeLoss',
    summary: 'Acknowledges that the history has lost messages.',
    about: onlyOperator('The problem disappears from /readyz on all workers and machines within a second.'),
    reply: ['The loss is acknowledged.'],
    ...operator('HISTORY_OFF', 'HISTORY_UNAVAILABLE'),
  },
  'DELETE /api/tokens/revocations/{id}': {
    id: 'liftRevocation',
    summary: 'Lifts a revocation: its tokens are accepted again.',
    about: onlyOperator('You can repeat the request safely.'),
    reply: ['The revocation does not exist any more.', { id: z.string() }],
    ...operator('BAD_ROOM', 'TOKENS_OFF', 'HISTORY_UNAVAILABLE'),
  },
  'POST /api/disconnect': {
    id: 'disconnect',
    summary: 'Ends all connections of a user or an address, or one connection, on all workers and machines.',
    about: onlyOperator('Clients first receive "ended". The admin port has the same path.'),
    body: z
      .object({
        user: z.string().optional(),
        address: z.string().optional().describe('An IPv4 or IPv6 address, as the log shows it.'),
        id: z.string().optional().describe('The id of a socket or of its session.'),
      })
      .describe('Set exactly one of the three fields.'),
    reply: ['The connections are ended.', { disconnected: count('Connections that were ended.'), ...reached }],
    ...operator('BAD_INPUT', 'BAD_JSON', 'BODY_TOO_LARGE'),
  },
  'POST /api/close-room': {
    id: 'closeRoom',
    summary: 'Takes all members out of a room, on all workers and machines.',
    about: onlyOperator(
      'Members first receive "ended", and may join the room again. The admin port has the same path.',
    ),
    body: z.object({ room: z.string(), namespace: z.string().default('/') }),
    reply: ['The room is empty.', { removed: count('Members that were taken out.'), ...reached }],
    ...operator('BAD_INPUT', 'BAD_JSON', 'BODY_TOO_LARGE'),
  },
};

/** The OpenAPI document of the HTTP API. Most workers are never asked for it. */
export function describeApi(): object {
  return openApiOf(info, operations);
}
