import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { EngineRequest } from '../../../src/engine/http/request.js';
import { NodeApp } from '../../../src/engine/node/app.js';
import type { EngineOptions } from '../../../src/engine/options.js';
import type { Session } from '../../../src/engine/session/session.js';
import { App } from '../../../src/engine/sockets.js';
import { openPolling, openWebSocket } from '../../engine/support/raw.js';
import { startWorker, stopWorkers, type TestWorker } from '../support/workers.js';

type Properties = EngineRequest & Record<PropertyKey, unknown>;
type Put = (request: Properties) => void;

afterEach(stopWorkers);

/**
 * Opens a session on one worker, and its WebSocket on another one.
 * @param prepare adds what the application does to each of the two
 * @returns the request that the application saw at the handshake, that of its session, and where the session is
 */
async function upgradeElsewhere(
  options: EngineOptions,
  prepare: (worker: TestWorker) => void = () => {},
  app = App,
): Promise<{ seen: Properties; request: Properties; hasMoved: boolean }> {
  const workers: TestWorker[] = [await startWorker(options, app()), await startWorker(options, app())];
  const [owner, other] = workers as [TestWorker, TestWorker];
  let seen: Properties | undefined;
  owner.engine.on('headers', (_headers, request) => {
    seen ??= request as Properties;
  });
  for (const worker of workers) prepare(worker);
  const announced = new Promise<{ session: Session; hasMoved: boolean }>((resolve) => {
    for (const { engine } of workers) {
      engine.once('connection', (session) => resolve({ session, hasMoved: engine === other.engine }));
    }
  });
  const client = await openPolling(`${owner.url}&token=secret`, { 'X-Name': 'ada' });
  const webSocket = openWebSocket(`${other.url}&sid=${client.sid}`);
  const { session, hasMoved } = await announced;
  webSocket.socket.terminate();
  return { seen: seen!, request: session.request as Properties, hasMoved };
}

class User {
  constructor(readonly name: string) {}
}
const shared = { name: 'ada' };
const cycle: Record<string, unknown> = {};
cycle.self = cycle;

const moving: [what: string, Put][] = [
  ['a text', (request) => Object.assign(request, { user: 'ada' })],
  ['nothing', (request) => Object.assign(request, { user: undefined, session: null })],
  ['numbers', (request) => Object.assign(request, { count: Number.NaN, big: 7n, minus: -0 })],
  ['nested objects', (request) => Object.assign(request, { user: { roles: ['admin', { of: 'a' }] } })],
  ['one object twice', (request) => Object.assign(request, { user: shared, owner: { of: shared } })],
  ['an object that contains itself', (request) => Object.assign(request, { cycle })],
  ['a date', (request) => Object.assign(request, { at: new Date(0) })],
  ['bytes', (request) => Object.assign(request, { bytes: Buffer.from('x'), view: Uint16Array.of(1, 2) })],
  ['maps and sets', (request) => Object.assign(request, { map: new Map([[{ a: 1 }, new Set([1])]]), re: /x/gi })],
  ['an error', (request) => Object.assign(request, { error: new TypeError('no') })],
  ['cookies without a prototype', (request) => Object.assign(request, { cookies: { __proto__: null, a: 'b' } })],
  ['a changed header', (request) => Object.assign(request.headers, { 'x-name': 'bob', 'x-user': 'ada' })],
  ['a removed header', (request) => void delete request.headers['x-name']],
  ['a changed parameter', (request) => Object.assign(request._query, { token: 'hidden', more: 'yes' })],
  ['a removed parameter', (request) => void delete request._query.token],
  ['another URL', (request) => Object.assign(request, { originalUrl: request.url, url: '/hidden' })],
];

const staying: [what: string, Put][] = [
  ['a function', (request) => Object.assign(request, { can: () => true })],
  ['an object of a class', (request) => Object.assign(request, { user: new User('ada') })],
  ['an object of a class in a map', (request) => Object.assign(request, { users: new Map([[1, new User('ada')]]) })],
  ['the request itself', (request) => Object.assign(request, { context: { request } })],
  ['a promise', (request) => Object.assign(request, { ready: Promise.resolve() })],
  ['a symbol', (request) => Object.assign(request, { [Symbol('user')]: 'ada' })],
  ['a hidden property', (request) => void Object.defineProperty(request, 'user', { value: 'ada' })],
  ['a getter that throws', (request) => void Object.defineProperty(request, 'user', { get: raise, enumerable: true })],
  ['a listener', (request) => void request.on('close', () => {})],
  ['more than 64 KB', (request) => Object.assign(request, { text: 'x'.repeat(70_000) })],
];

function raise(): never {
  throw new Error('a getter');
}

/** The names and values of all properties with their classes, but not the connection, which is that of the WebSocket. */
const contentOf = (request: Properties) => inspect({ ...request, connection: undefined, res: undefined }, { depth: 9 });

describe('a session whose WebSocket reaches another worker', () => {
  test.each(moving)('moves with %s on its request', async (_what, put) => {
    const allowRequest: EngineOptions['allowRequest'] = (request, callback) => {
      put(request as never);
      callback(null, true);
    };
    const { seen, request, hasMoved } = await upgradeElsewhere({ allowRequest });
    expect(hasMoved).toBe(true);
    expect(contentOf(request)).toBe(contentOf(seen));
  });

  test.each(staying)('stays where it is with %s on its request', async (_what, put) => {
    const allowRequest: EngineOptions['allowRequest'] = (request, callback) => {
      put(request as never);
      callback(null, true);
    };
    const { seen, request, hasMoved } = await upgradeElsewhere({ allowRequest });
    expect(hasMoved).toBe(false);
    expect(request).toBe(seen);
  });

  test.each<[where: string, (worker: TestWorker, put: Put) => void]>([
    [
      'generateId',
      ({ engine }, put) => {
        engine.generateId = (request) => {
          put(request as Properties);
          return 'id';
        };
      },
    ],
    ['initial_headers', ({ engine }, put) => void engine.on('initial_headers', (_headers, request) => put(request))],
    ['headers', ({ engine }, put) => void engine.on('headers', (_headers, request) => put(request))],
    [
      'middleware',
      ({ engine }, put) => {
        engine.use((request, _response, next) => {
          put(request);
          next();
        });
      },
    ],
  ])('moves with what %s has put there', async (_where, prepare) => {
    let count = 0;
    const put: Put = (request) => Object.assign(request, { number: ++count });
    const { request, hasMoved } = await upgradeElsewhere({}, (worker) => prepare(worker, put));
    expect([hasMoved, request.number]).toEqual([true, 1]);
  });

  test('moves with what `allowRequest` has put there, and with the objects of middleware that ran again', async () => {
    const allowRequest: EngineOptions['allowRequest'] = (request: Properties, callback) => {
      request.role = `admin ${(request.user as User).name}`;
      delete request.secret;
      callback(null, true);
    };
    const { seen, request, hasMoved } = await upgradeElsewhere({ allowRequest }, ({ engine }) =>
      engine.use((passing, _response, next) => {
        Object.assign(passing, { user: new User('ada'), secret: 'x', role: 'none' });
        next();
      }),
    );
    expect(hasMoved).toBe(true);
    expect(request.user).toEqual(new User('ada'));
    expect(request.user).not.toBe(seen.user);
    expect([request.role, 'secret' in request]).toEqual(['admin ada', false]);
  });

  test('moves with what node:http has read', async () => {
    const { seen, request, hasMoved } = await upgradeElsewhere({}, undefined, NodeApp.create as typeof App);
    expect(hasMoved).toBe(true);
    expect(seen.rawHeaders).toEqual(expect.arrayContaining(['X-Name', 'ada']));
    expect([request.rawHeaders, request.httpVersion]).toEqual([seen.rawHeaders, '1.1']);
  });
});
