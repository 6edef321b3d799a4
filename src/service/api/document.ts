// The OpenAPI document of the HTTP API, from the schemas that check its input. The build writes it to dist/openapi.json.
import { z } from 'zod';
import { MAX_BATCH, newMessage, pageQuery, postKey, revocation, roomName, userName } from '../chat/input.js';
import type { routes } from './api.js';
import { about, count, described, flag, ok, operationsOf, pathOf, schemaOf, schemas } from './openapi.js';
import { statsQuery } from './operator.js';

const anything = z.unknown().describe('Any JSON value.');

const NewMessage = z
  .object({ ...newMessage.shape, from: about(newMessage.shape.from, "The sender's name.") })
  .meta({ id: 'NewMessage' });
const Revocation = z
  .object({
    id: z.string().describe('"jti:…", "user:…" or "all".'),
    before: count('Tokens issued before this time are revoked, in ms since 1970.').optional(),
    at: count('Time of the revocation, in ms since 1970.'),
    expires: count('Time at which the server forgets the revocation, in ms since 1970.'),
  })
  .meta({ id: 'Revocation' });
const Reached = z
  .object({ workers: count('Workers that have acted.'), machines: count('Machines that have acted.') })
  .meta({ id: 'Reached' });

const message = z.object({
  room: z.string(),
  from: z.string(),
  text: z.string(),
  at: count('When the server accepted the message, in ms since 1970.'),
  tag: count(),
  offset: z.int().min(1),
  deleted: flag('The operator has deleted the message: "from" and "text" are empty.'),
});
const published = {
  tag: count().optional(),
  offset: z.int().min(1).optional(),
  duplicate: flag('True if an earlier request with this key already stored the message.'),
};
const position = {
  tag: count(),
  offset: count('The offset of the message, or of the newest message of the room.'),
};
const deleted = {
  deleted: count('Messages of the history that had a text until now.'),
  archived: count('Messages of the archive that had a text until now. Most messages are in both.'),
};
const reached = {
  reached: Reached,
  complete: z.boolean().describe('False if a worker or machine did not answer. Then repeat the request.'),
};

/** With the API key or a token. */
const caller = operationsOf(
  'apiKey',
  '',
  `BAD_ROOM ROOM_FORBIDDEN API_OFF RATE_LIMITED INTERNAL ACCOUNTS_UNAVAILABLE OVERLOADED
   UNAUTHORIZED TOKEN_INVALID TOKEN_EXPIRED TOKEN_REVOKED TOKEN_ISSUER TOKEN_AUDIENCE`,
);
const operator = operationsOf(
  'operator',
  'Only the operator has access; without ADMIN_USER the path is off.',
  'ADMIN_ONLY ORIGIN_FORBIDDEN ADMIN_OFF METHOD_NOT_ALLOWED RATE_LIMITED INTERNAL',
);
const publicly = operationsOf('operator', '', 'ADMIN_ONLY METHOD_NOT_ALLOWED RATE_LIMITED INTERNAL');
const ofHistory = 'HISTORY_OFF HISTORY_UNAVAILABLE HISTORY_REFUSED';

const operations = {
  '/api/rooms/{room}/messages': {
    GET: caller('readMessages', "Reads a page of a room's history, oldest message first.", '', 'The page.', {
      query: described(pageQuery, {
        tag: 'The tag of the message at "after", or at "before" if there is no "after". The response then says if it is lost.',
        after: 'Return messages after this offset; 0 starts at the beginning.',
        before: 'Return messages before this offset; without "after", the newest of them.',
        limit: 'Maximum number of messages.',
      }),
      fields: {
        messages: z.array(message),
        after: count('The offset before the first message of the page; without messages, where a reader goes on.'),
        offset: count('The newest offset of the room.'),
        tag: count('The tag of the newest message of the room.'),
        complete: z.boolean().describe('False if a part of the requested messages no longer exists.'),
        lost: flag(
          'The server has lost the message that the request names with its tag. The page then begins after the newest message that is not newer.',
        ),
      },
      errors: 'BAD_PAGE HISTORY_OFF HISTORY_UNAVAILABLE',
    }),
    POST: caller(
      'publish',
      'Publishes one message or a batch to a room. A successful response means that the messages are stored, and are being delivered to the members.',
      'The server stores all messages of a batch or none, at consecutive offsets. After HISTORY_UNCERTAIN, it may have stored them: repeat the request with the same key.',
      'The position of the message, or of each message of the batch; empty if the server stores no messages.',
      {
        header: described(z.object({ 'Idempotency-Key': postKey }), {
          'Idempotency-Key':
            'Identifies this request within the room. A request that is repeated with the same key is stored once, and returns the positions of the first request. A request with the same key and different messages is rejected. The server remembers the key for HISTORY_TTL.',
        }),
        body: z.union([NewMessage, z.object({ messages: z.array(NewMessage).min(1).max(MAX_BATCH) })]),
        fields: z.union([ok(published), ok({ messages: z.array(z.object(published)) })]),
        errors: `BAD_INPUT BAD_BATCH BAD_TEXT BAD_NAME BAD_KEY KEY_REUSED HISTORY_UNCERTAIN ${ofHistory}`,
      },
    ),
    DELETE: operator(
      'deleteRoomMessages',
      'Deletes all messages of a room, in the history and the archive.',
      'The positions stay, and messages that are posted later follow them. Members receive "deleted". You can repeat the request safely.',
      'The messages are deleted.',
      {
        fields: { ...position, ...deleted },
        errors: `BAD_ROOM ${ofHistory}`,
      },
    ),
  },
  '/api/state/{room}/{key}': {
    GET: caller('getState', 'Reads the value of a key of a state room.', '', 'The value of the key.', {
      fields: { value: anything },
      errors: 'BAD_STATE_KEY NOT_FOUND',
    }),
    PUT: caller('setState', 'Sets a key of a state room.', '', 'The key has this value.', {
      body: anything,
      errors: 'BAD_STATE_KEY NOT_FOUND BAD_STATE_VALUE STATE_FULL',
    }),
    PATCH: caller(
      'patchState',
      'Changes fields of a key whose value is an object, or of a key without a value.',
      '',
      'The key has these fields.',
      {
        body: z.looseObject({}).describe('The fields that change.'),
        errors: 'BAD_STATE_KEY NOT_FOUND BAD_INPUT BAD_STATE_VALUE STATE_PATCH_SIZE STATE_FULL',
      },
    ),
    DELETE: caller('deleteState', 'Deletes a key of a state room.', '', 'The key has no value any more.', {
      fields: { deleted: z.boolean().describe('Whether there was anything to delete.') },
      errors: 'BAD_STATE_KEY NOT_FOUND',
    }),
  },
  '/api/stats': {
    GET: publicly(
      'readStats',
      'Counts clients, messages, rooms and their members on all workers and machines.',
      'If ADMIN_USER is set, only the operator has access. Otherwise access is public, and the response lists rooms only if the server requires no tokens from its users.',
      'The counts, at most a few seconds old.',
      {
        query: described(statsQuery, {
          limit: 'Maximum number of rooms to list, those with the most members first.',
        }),
        fields: {
          totals: z.object({
            workers: count('Number of workers on all machines.'),
            clients: count('Number of connected clients.'),
            messages: count('Messages published since the current workers started.'),
            rooms: count('Number of rooms with at least one member.'),
          }),
          rooms: z
            .array(
              z.object({
                room: z.string(),
                members: count('Number of users in the room, on all workers and machines.'),
              }),
            )
            .optional()
            .describe('The rooms with the most members, the largest first; absent if room names are not public.'),
        },
        errors: 'BAD_PAGE',
      },
    ),
  },
  '/api/drain': {
    POST: operator(
      'drain',
      'Drains this machine: disconnects its clients so that they reconnect to other machines, and makes /readyz report "draining". SIGUSR2 has the same effect.',
      'The server disconnects clients in random order, spread over DRAIN_TIMEOUT. It serves clients that still connect, and disconnects them in the next round. Repeated calls change nothing. A reload (SIGHUP) ends the drain.',
      'The drain was requested; the primary passes it on to the workers.',
      {
        status: 202,
        fields: { state: z.literal('draining'), over: count('Duration of a round in ms (DRAIN_TIMEOUT).') },
      },
    ),
  },
  '/api/rooms/{room}/messages/{offset}': {
    DELETE: operator(
      'deleteMessage',
      'Deletes one message of a room, in the history and the archive.',
      'The position of the message stays. Members receive "deleted". You can repeat the request safely.',
      'The message is deleted.',
      {
        query: described(z.object({ tag: pageQuery.shape.tag }), {
          tag: 'The tag of the message. If the room has another message at the offset, the request gets the status 404.',
        }),
        fields: position,
        errors: `BAD_ROOM NOT_FOUND ${ofHistory}`,
      },
    ),
  },
  '/api/users/{user}/messages': {
    DELETE: operator(
      'deleteUserMessages',
      'Deletes all messages that a user has written, to rooms and to other users, in the history and the archive.',
      'The positions stay. Readers receive "deleted". The server reads the whole history and the whole archive. You can repeat the request safely.',
      'The messages are deleted.',
      {
        fields: deleted,
        errors: `BAD_NAME ${ofHistory}`,
      },
    ),
  },
  '/api/users/{user}/export': {
    GET: operator(
      'exportUser',
      'Exports the messages that a user has written, and the direct messages that the user has received.',
      'The response has one JSON object per line. The last line is { "end": true, "lines": … }; if it is missing, the export is incomplete. A message that is archived during the export may appear twice, with the same position.',
      'The messages, from the archive and the history.',
      {
        type: 'application/x-ndjson',
        fields: z.unknown(),
        errors: `BAD_NAME ${ofHistory}`,
      },
    ),
  },
  '/api/tokens/revoke': {
    POST: operator(
      'revokeTokens',
      'Revokes one token, all tokens of a user, or all tokens that were issued before a time.',
      'Connections with such tokens end on all workers and machines. The claim "iat" says when a token was issued. A token without it, or with a time more than a minute in the future, counts as issued in 1970. A repeated request can extend an earlier revocation, and never narrows it.',
      'The tokens are revoked.',
      {
        body: described(revocation, {
          jti: 'The claim "jti" of one token; leave out "user" and "before".',
          user: 'All tokens of this user.',
          before: 'Only tokens issued before this time, in ms since 1970. Default with "user": now.',
          expires:
            'When the server may forget the revocation because the tokens have expired, in ms since 1970. Default: in a year.',
        }),
        fields: { revocation: Revocation },
        errors: 'BAD_INPUT BAD_NAME TOKENS_OFF HISTORY_UNAVAILABLE REVOCATIONS_FULL',
      },
    ),
  },
  '/api/tokens/revocations': {
    GET: operator('listRevocations', 'Lists the revocations.', '', 'The revocations.', {
      fields: {
        revocations: z.array(Revocation),
        max: count('Maximum number of revocations that the server keeps.'),
      },
      errors: 'TOKENS_OFF HISTORY_UNAVAILABLE',
    }),
  },
  '/api/acknowledge-loss': {
    POST: operator(
      'acknowledgeLoss',
      'Acknowledges that the history has lost messages.',
      'The problem disappears from /readyz on all workers and machines within a second.',
      'The loss is acknowledged.',
      {
        errors: 'HISTORY_OFF HISTORY_UNAVAILABLE',
      },
    ),
  },
  '/api/tokens/revocations/{id}': {
    DELETE: operator(
      'liftRevocation',
      'Lifts a revocation: its tokens are accepted again.',
      'You can repeat the request safely.',
      'The revocation does not exist any more.',
      {
        fields: { id: z.string() },
        errors: 'NOT_FOUND TOKENS_OFF HISTORY_UNAVAILABLE REVOCATIONS_FULL',
      },
    ),
  },
  '/api/disconnect': {
    POST: operator(
      'disconnect',
      'Ends all connections of a user or an address, or one connection, on all workers and machines.',
      'Clients first receive "ended". The admin port has the same path.',
      'The connections are ended.',
      {
        body: z
          .object({
            user: z.string(),
            address: z.string().describe('An IPv4 or IPv6 address, as the log shows it.'),
            id: z.string().describe('The id of a socket or of its session.'),
          })
          .partial()
          .describe('Set exactly one of the three fields.'),
        fields: { disconnected: count('Connections that were ended.'), ...reached },
        errors: 'BAD_INPUT',
      },
    ),
  },
  '/api/close-room': {
    POST: operator(
      'closeRoom',
      'Takes all members out of a room, on all workers and machines.',
      'Members first receive "ended", and may join the room again. The admin port has the same path.',
      'The room is empty.',
      {
        body: z.object({ room: z.string(), namespace: z.string().default('/') }),
        fields: { removed: count('Members that were taken out.'), ...reached },
        errors: 'BAD_INPUT',
      },
    ),
  },
} satisfies { [Path in keyof typeof routes]: { [Method in keyof (typeof routes)[Path]]: object } };

const segments = z.object({
  room: about(roomName, "The room's name, percent-encoded."),
  key: z.string().min(1).max(256).describe('The key, percent-encoded; up to 256 bytes.'),
  user: about(userName, 'Name of the user, percent-encoded.'),
  offset: z.int().min(1).describe('Offset of the message.'),
  id: z.string().describe('Id of the revocation, percent-encoded.'),
});

const document = {
  get: {
    operationId: 'describe',
    summary: 'This document.',
    security: [],
    responses: {
      200: { description: 'The document.', content: { 'application/json': { schema: schemaOf(z.looseObject({})) } } },
    },
  },
};

/** The document, in the format of OpenAPI 3.1. */
export const openApi = {
  openapi: '3.1.0',
  info: {
    title: 'gjallar',
    version: '1',
    description:
      'Publishes messages to the rooms of a gjallar server, reads their history, changes state rooms, and reports statistics to the operator. Publishing and reading require a server with API_KEY or with user tokens (JWT_SECRET or JWKS_URL).',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/' }],
  paths: {
    '/api/openapi.json': document,
    ...Object.fromEntries(Object.entries(operations).map((entry) => pathOf(segments, entry))),
  },
  components: {
    securitySchemes: {
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description:
          "The server's API_KEY, which allows everything under any name; or a user's token, which allows what its claims state, under the user's own identity (the claim that JWT_USER_CLAIM names). A token that limits the rooms to join, and has no list of rooms to publish to, allows publishing to the rooms that it may join.",
      },
      operator: {
        type: 'http',
        scheme: 'basic',
        description: 'ADMIN_USER and ADMIN_PASSWORD, if they are set.',
      },
    },
    schemas,
  },
};
