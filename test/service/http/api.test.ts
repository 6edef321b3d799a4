import { once } from 'node:events';
import { connect as openSocket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type ErrorCode, errorCodes } from '../../../src/base/errors.js';
import { MAX_PAGE } from '../../../src/features/history/store.js';
import { routes } from '../../../src/service/api/api.js';
import type { ChatMessage } from '../../../src/service/chat/protocol.js';
import { connect, connected, disconnectAll, expectOk, nextEvent } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { startServiceHere } from '../../support/service-here.js';

const API_KEY = 'a-key-for-the-tests';

interface ResponseDocument {
  description: string;
}

interface OperationDocument {
  operationId: string;
  responses: Record<string, ResponseDocument>;
}

interface ApiDocument {
  openapi: string;
  paths: Record<string, Record<string, OperationDocument>>;
}

let server: RunningServer;
let document: ApiDocument;

beforeAll(async () => {
  server = await startServer({ API_KEY, WORKERS: '2', MAX_PAYLOAD: '4096' });
  document = resolved(await (await fetch(`${server.url}/api/openapi.json`)).json());
});
afterEach(disconnectAll);
afterAll(() => server.stop());

interface CallOptions {
  body?: unknown;
  headers?: Record<string, string>;
  method?: string;
  url?: string;
}

/** Calls the API, and holds its answer to the document. */
async function call(
  path: string,
  { body, headers, method = body === undefined ? 'GET' : 'POST', url = server.url }: CallOptions = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${API_KEY}`, ...headers },
    body: typeof body === 'string' || body === undefined ? (body as string) : JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  const operation = document.paths['/api/rooms/{room}/messages']![method.toLowerCase()];
  if (operation && /^.api.rooms.[^/]+.messages/.test(path)) expectDocumented(operation, response.status, answer);
  return { status: response.status, body: answer };
}

function expectDocumented(operation: OperationDocument, status: number, answer: Record<string, unknown>): void {
  const documented = operation.responses[status];
  expect(documented).toBeDefined();
  if (answer.ok) return;
  expect(errorCodes[answer.code as ErrorCode].status).toBe(status);
  expect(codesOf(documented!)).toContain(answer.code);
}

/** The codes of an error, which its description names. */
function codesOf({ description }: ResponseDocument): ErrorCode[] {
  return Array.from(description.matchAll(/`([A-Z_]+)`/g), ([, code]) => code as ErrorCode);
}

/** The document with each part in the place of the reference to it. */
function resolved(document: object): ApiDocument {
  const partAt = (reference: string) =>
    reference
      .slice('#/'.length)
      .split('/')
      .reduce((part, name) => (part as Record<string, object>)[name]!, document);
  const fill = (_name: string, value: unknown): unknown => {
    const { $ref, ...own } = (value ?? {}) as { $ref?: string };
    return $ref ? { ...partAt($ref), ...own } : value;
  };
  return JSON.parse(JSON.stringify(document, fill)) as ApiDocument;
}

describe('the OpenAPI document', () => {
  test('names exactly the routes there are', () => {
    expect(document.openapi).toBe('3.1.0');
    const methods = (path: string) =>
      Object.keys(document.paths[path]!)
        .filter((name) => name !== 'parameters')
        .map((name) => name.toUpperCase());
    const { '/api/openapi.json': own, ...paths } = document.paths;
    expect(Object.keys(own!)).toEqual(['get']);
    expect(Object.keys(paths)).toEqual(Object.keys(routes));
    for (const [path, operations] of Object.entries(routes)) expect(methods(path)).toEqual(Object.keys(operations));
  });

  test('has the limits of the schemas that check the input', async () => {
    const { get, post } = document.paths['/api/rooms/{room}/messages']!;
    const text = { type: 'string', minLength: 1, maxLength: 10_000 };
    const from = { type: 'string', minLength: 1, maxLength: 64, default: 'api' };
    const message = { type: 'object', required: ['text'], properties: { text, from } };
    const batch = { type: 'object', properties: { messages: { minItems: 1, maxItems: 100, items: message } } };
    expect(post).toMatchObject({
      parameters: [{ name: 'room' }, { name: 'Idempotency-Key', in: 'header', required: false }],
      requestBody: { content: { 'application/json': { schema: { anyOf: [message, batch] } } } },
    });
    const limit = { type: 'integer', minimum: 1, maximum: MAX_PAGE, default: 50 };
    expect(get).toMatchObject({ parameters: expect.arrayContaining([expect.objectContaining({ schema: limit })]) });
    for (const [over, status] of [
      [0, 200],
      [1, 400],
    ] as const) {
      expect((await call(`/api/rooms/limits/messages?limit=${MAX_PAGE + over}`)).status).toBe(status);
    }
  });

  test('names errors that exist, each under its status', () => {
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    for (const { responses } of operations) {
      for (const [status, response] of Object.entries(responses)) {
        for (const code of codesOf(response)) {
          expect({ code, status: errorCodes[code].status }).toEqual({ code, status: Number(status) });
        }
        expect(codesOf(response).length > 0).toBe(Number(status) >= 400);
      }
    }
  });
});

describe('publishing', () => {
  test('reaches the members of the room on all workers, and is in its history', async () => {
    const members = [1, 2, 3, 4].map(() => connect(server.url));
    await Promise.all(members.map(connected));
    for (const member of members) expectOk(await member.emitWithAck('join', 'å/b'));
    const heard = members.map((member) => nextEvent<[ChatMessage]>(member, 'message'));
    const path = `/api/rooms/${encodeURIComponent('å/b')}/messages`;
    const { status, body } = await call(path, { body: { text: 'hello', from: 'bot' } });
    expect({ status, body }).toEqual({
      status: 200,
      body: { ok: true, offset: 1, tag: expect.any(Number) },
    });
    for (const [message] of await Promise.all(heard)) {
      expect(message).toMatchObject({ room: 'å/b', from: 'bot', text: 'hello', offset: 1, tag: body.tag });
    }
    const page = await call(path);
    expect(page.body).toMatchObject({
      ok: true,
      offset: 1,
      complete: true,
      messages: [{ from: 'bot', text: 'hello' }],
    });
  });

  test('takes batches, which lie next to each other, and names who says nothing of who it is', async () => {
    const texts = Array.from({ length: 100 }, (_, index) => `${index}`);
    const batch = { messages: texts.map((text) => ({ text })) };
    const { body } = await call('/api/rooms/batch/messages', { body: { messages: batch.messages.slice(0, 30) } });
    expect((body.messages as { offset: number }[]).map(({ offset }) => offset)).toEqual(
      Array.from({ length: 30 }, (_, index) => index + 1),
    );
    const { body: page } = await call('/api/rooms/batch/messages?after=10&limit=5');
    expect(page.messages).toMatchObject(texts.slice(10, 15).map((text) => ({ from: 'api', text })));
    const { body: back } = await call(
      `/api/rooms/batch/messages?before=11&limit=2&tag=${(page.messages as { tag: number }[])[0]!.tag}`,
    );
    expect(back).toMatchObject({ messages: [{ offset: 9 }, { offset: 10 }], complete: true });
  });

  test('is done once, however often it is repeated with its key', async () => {
    const publish = (room: string, body: object, key: string) =>
      call(`/api/rooms/${room}/messages`, { body, headers: { 'Idempotency-Key': key } });
    const [first, ...others] = await Promise.all([1, 2, 3, 4].map(() => publish('once', { text: 'x' }, 'k')));
    for (const { body } of others) {
      expect(body.offset).toBe(first!.body.offset);
      expect(body.tag).toBe(first!.body.tag);
    }
    expect((await publish('once', { text: 'x' }, 'k')).body).toMatchObject({ offset: 1, duplicate: true });
    for (const other of [{ text: 'y' }, { text: 'x', from: 'else' }]) {
      expect((await publish('once', other, 'k')).body).toMatchObject({ ok: false, code: 'KEY_REUSED' });
    }
    expect((await publish('once', { text: 'y' }, 'another')).body).toMatchObject({ ok: true, offset: 2 });
    // A key is the room's own.
    expect((await publish('twice', { text: 'x' }, 'k')).body).not.toHaveProperty('duplicate');
    const batch = { messages: [{ text: 'a' }, { text: 'b' }] };
    const kept = await publish('batches', batch, 'b');
    const repeated = await publish('batches', batch, 'b');
    const positions = (kept.body.messages as object[]).map((position) => ({ ...position, duplicate: true }));
    expect(repeated.body.messages).toEqual(positions);
    const changed = { messages: [{ text: 'a' }, { text: 'c' }] };
    expect(await publish('batches', changed, 'b')).toMatchObject({ status: 422, body: { code: 'KEY_REUSED' } });
    for (const other of [
      { text: 'a' },
      { messages: [...batch.messages, { text: 'c' }] },
      { messages: [{ text: 'a' }] },
    ]) {
      expect(await publish('batches', other, 'b')).toMatchObject({ status: 422, body: { code: 'KEY_REUSED' } });
    }
    expect((await call('/api/rooms/batches/messages')).body).toMatchObject({ offset: 2 });
    expect((await call('/api/rooms/once/messages')).body).toMatchObject({ offset: 2 });
  });
});

describe('what is refused', () => {
  const good = { text: 'x' };
  test.each<[code: ErrorCode, path: string, options: CallOptions]>([
    ['UNAUTHORIZED', '/api/rooms/a/messages', { headers: { Authorization: '' } }],
    ['UNAUTHORIZED', '/api/rooms/a/messages', { headers: { Authorization: 'Bearer a-key-for-the-test' } }],
    ['UNAUTHORIZED', '/api/rooms/a/messages', { headers: { Authorization: `Basic ${API_KEY}` }, body: good }],
    ['BAD_ROOM', '/api/rooms/%ff/messages', { body: good }],
    ['BAD_ROOM', '/api/rooms/%0a/messages', {}],
    ['BAD_ROOM', '/api/rooms/a%c2%85b/messages', { body: good }],
    ['BAD_ROOM', `/api/rooms/${'x'.repeat(129)}/messages`, { body: good }],
    ['BAD_PAGE', '/api/rooms/a/messages?after=-1', {}],
    ['BAD_PAGE', '/api/rooms/a/messages?limit=1e3', {}],
    ['BAD_PAGE', '/api/rooms/a/messages?limit=0', {}],
    ['BAD_JSON', '/api/rooms/a/messages', { body: '{' }],
    ['BAD_JSON', '/api/rooms/a/messages', { body: '', method: 'POST' }],
    ['BAD_JSON', '/api/rooms/a/messages', { body: `${'['.repeat(1001)}${']'.repeat(1001)}` }],
    ['BAD_INPUT', '/api/rooms/a/messages', { body: '[]' }],
    ['BAD_INPUT', '/api/rooms/a/messages', { body: '7' }],
    ['BAD_TEXT', '/api/rooms/a/messages', { body: {} }],
    ['BAD_TEXT', '/api/rooms/a/messages', { body: { messages: [good, { text: '' }] } }],
    ['BAD_NAME', '/api/rooms/a/messages', { body: { ...good, from: '' } }],
    ['BAD_BATCH', '/api/rooms/a/messages', { body: { messages: [] } }],
    ['BAD_BATCH', '/api/rooms/a/messages', { body: { messages: ['x'] } }],
    ['BAD_BATCH', '/api/rooms/a/messages', { body: { messages: Array(101).fill(good) } }],
    ['BAD_KEY', '/api/rooms/a/messages', { body: good, headers: { 'Idempotency-Key': 'x'.repeat(201) } }],
    ['BODY_TOO_LARGE', '/api/rooms/a/messages', { body: { text: 'x'.repeat(5000) } }],
    ['METHOD_NOT_ALLOWED', '/api/rooms/a/messages', { method: 'PUT' }],
    ['NOT_FOUND', '/api/rooms/a', {}],
    ['NOT_FOUND', '/api/', { body: good }],
  ])('%s: %s %j', async (code, path, options) => {
    const { status, message } = errorCodes[code];
    expect(await call(path, options)).toEqual({ status, body: { ok: false, code, message } });
  });

  test('nothing of it was said', async () => {
    expect((await call('/api/rooms/a/messages')).body).toMatchObject({ messages: [], offset: 0 });
  });

  test('a chunked body is bounded too, and callers that disconnect cause no failure', async () => {
    const head = `POST /api/rooms/a/messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${API_KEY}\r\n`;
    const chunked = openSocket(server.port, '127.0.0.1');
    chunked.write(`${head}Transfer-Encoding: chunked\r\n\r\n1388\r\n${'x'.repeat(5000)}\r\n0\r\n\r\n`);
    const [answer] = (await once(chunked, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    chunked.destroy();
    const leaver = openSocket(server.port, '127.0.0.1');
    await new Promise<void>((resolve) => {
      leaver.write(`${head}Content-Length: 100\r\n\r\n{"text":`, () => resolve());
    });
    leaver.destroy();
    expect((await call('/api/rooms/a/messages')).body.ok).toBe(true);
  });

  test('everything if the operator set no key, and the response says how to turn it on', async () => {
    const bare = await startServiceHere({ WORKERS: '1' });
    atEnd(() => bare.stop());
    for (const body of [undefined, good]) {
      const refused = await call('/api/rooms/a/messages', { body, url: bare.url });
      expect(refused).toMatchObject({ status: 404, body: { code: 'API_OFF' } });
      expect(refused.body.message).toContain('API_KEY');
    }
    expect(resolved((await call('/api/openapi.json', { url: bare.url })).body)).toEqual(document);
  });

  test('history, and keys that would need one, where none is kept', async () => {
    const bare = await startServiceHere({ API_KEY, HISTORY_TTL: '0', WORKERS: '1' });
    const { url } = bare;
    atEnd(disconnectAll, () => bare.stop());
    const member = connect(url);
    expectOk(await member.emitWithAck('join', 'a'));
    const heard = nextEvent<[ChatMessage]>(member, 'message');
    expect(await call('/api/rooms/a/messages', { body: good, url })).toEqual({ status: 200, body: { ok: true } });
    expect((await heard)[0]).toMatchObject({ from: 'api', text: 'x' });
    const keyed = { body: good, headers: { 'Idempotency-Key': 'k' }, url };
    expect((await call('/api/rooms/a/messages', keyed)).body.code).toBe('HISTORY_OFF');
    expect((await call('/api/rooms/a/messages', { url })).body.code).toBe('HISTORY_OFF');
  });
});
