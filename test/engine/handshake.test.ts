import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { failures } from '../../src/base/owner.js';
import { atEnd } from '../support/ends.js';
import { closeEngines, eventOf, startEngine } from './support/engine.js';
import { closeWebSockets, openPolling, openWebSocket } from './support/raw.js';

afterEach(() => {
  closeWebSockets();
  closeEngines();
});

interface ConnectionError {
  req: { url: string };
  code: number;
  message: string;
  context: Record<string, unknown>;
}

describe('the handshake', () => {
  test('tells the client what it has to know, over polling', async () => {
    const { url, engine } = await startEngine({ pingInterval: 300, pingTimeout: 200, maxHttpBufferSize: 5000 });
    const { open } = await openPolling(url);
    const sid = expect.stringMatching(/^[\w-]{20}$/);
    expect(open).toEqual({ sid, upgrades: ['websocket'], pingInterval: 300, pingTimeout: 200, maxPayload: 5000 });
    expect(engine.clientsCount).toBe(1);
    expect(Object.keys(engine.clients)).toEqual([open.sid]);
  });

  test('says that the connection closes where the client asks for it', async () => {
    const { url } = await startEngine();
    const request = get(`${url}?EIO=4&transport=polling`, { headers: { connection: 'close' } });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.headers.connection).toBe('close');
  });

  test('tells the client what it has to know, over a WebSocket', async () => {
    const { url, engine } = await startEngine({ pingInterval: 300, pingTimeout: 200 });
    const open = (await openWebSocket(url).next()) as string;
    expect(JSON.parse(open.slice(1))).toMatchObject({ upgrades: [], pingInterval: 300, maxPayload: 1_000_000 });
    expect(engine.clientsCount).toBe(1);
  });

  test('can carry a first message, text or binary', async () => {
    const { url } = await startEngine({ initialPacket: 'welcome' });
    const client = openWebSocket(url);
    await client.next();
    expect(await client.next()).toBe('4welcome');
    const bytes = await startEngine({ initialPacket: Buffer.of(1, 2) });
    const other = openWebSocket(bytes.url);
    await other.next();
    expect(await other.next()).toEqual(Buffer.of(1, 2));
  });

  test('takes ids from the application, also asynchronous ones', async () => {
    const { url, engine } = await startEngine();
    engine.generateId = (request) => Promise.resolve(`id-of-${request.method}`);
    expect((await openPolling(url)).sid).toBe('id-of-GET');
    expect(engine.has('id-of-GET')).toBe(true);
  });

  test('fails where the application finds no id', async () => {
    const { url, engine } = await startEngine();
    const failure = new Error('no more ids');
    engine.generateId = () => Promise.reject(failure);
    const reported = eventOf<[ConnectionError]>(engine, 'connection_error');
    await expect(openPolling(url)).rejects.toThrow('400: {"code":3,"message":"Bad request"}');
    expect((await reported)[0].context).toEqual({ name: 'ID_GENERATION_ERROR', error: failure });
  });

  test.each([
    ['a number', () => 7, '7'],
    ['a promise of a number', async () => 8, '8'],
  ])('takes %s as id', async (_name, generateId, sid) => {
    const { url, engine } = await startEngine();
    engine.generateId = generateId;
    expect((await openPolling(url)).sid).toBe(sid);
    expect(engine.has(sid)).toBe(true);
  });

  test.each([{}, '', null, undefined])('rejects a client for which the application generates %j as id', async (id) => {
    const { url, engine } = await startEngine();
    engine.generateId = () => id as string;
    const reported = eventOf<[ConnectionError]>(engine, 'connection_error');
    await expect(openPolling(url)).rejects.toThrow('400: {"code":3,"message":"Bad request"}');
    expect((await reported)[0].context).toMatchObject({ name: 'ID_GENERATION_ERROR', error: expect.any(TypeError) });
  });

  test.each([
    ['rejects', async () => Promise.reject(new Error('no token'))],
    ['rejects with nothing', () => Promise.reject()],
    [
      'throws',
      () => {
        throw new Error('no token');
      },
    ],
  ])('is rejected where the application %s instead of deciding', async (_name, decide) => {
    const { url, engine } = await startEngine();
    engine.use(decide);
    await expect(openPolling(url)).rejects.toThrow('400: {"code":3,"message":"Bad request"}');
    expect(await openWebSocket(url).status).toBe(400);
    const other = await startEngine({ allowRequest: decide });
    await expect(openPolling(other.url)).rejects.toThrow('403: {"code":4,"message":"Forbidden"}');
    expect(await openWebSocket(other.url).status).toBe(403);
  });

  test('ends the response that middleware has begun before it failed', async () => {
    const { url, engine } = await startEngine();
    engine.use(async (_request, response) => {
      response.writeHead(401, { 'X-Realm': 'here' }).write('no token');
      throw new Error('too late for another answer');
    });
    await expect(openPolling(url)).rejects.toThrow('401: no token');
  });

  test.each([
    ['WebSocket ends', { status: 101 }],
    ['request is rejected', { status: 403 }],
  ])('closes the response of middleware once its %s', async (_when, { status }) => {
    const { url, engine } = await startEngine({ allowRequest: (_request, decide) => decide(null, status === 101) });
    const events: string[] = [];
    const closed = new Promise<void>((resolve) => {
      engine.use((_request, response, next) => {
        response.on('close', () => resolve(events.push('close') as never));
        next();
      });
    });
    const client = openWebSocket(url);
    expect(await client.status).toBe(status);
    if (status === 101) {
      await client.next();
      expect(events).toEqual([]);
      client.socket.close();
    }
    await closed;
    expect(events).toEqual(['close']);
  });

  test('ends no process by what middleware rejects with after its answer', async () => {
    const { url, engine } = await startEngine();
    engine.use(async (_request, _response, next) => {
      next();
      throw new Error('too late');
    });
    const failed = new Promise((resolve) => {
      failures.subscribe(resolve);
      // The channel is one of the process, which runs other tests next.
      atEnd(() => failures.unsubscribe(resolve));
    });
    await openPolling(url);
    expect(await failed).toMatchObject({ error: { message: 'too late' } });
  });

  test('refuses an upgrade to polling', async () => {
    const { url, engine } = await startEngine();
    const reported = eventOf<[ConnectionError]>(engine, 'connection_error');
    const client = openWebSocket(url, {}, 'polling');
    expect(await client.status).toBe(400);
    expect((await reported)[0].context).toEqual({ name: 'TRANSPORT_HANDSHAKE_ERROR' });
  });
});

describe('a plain request for a session that is on a WebSocket', () => {
  test.each([
    ['polling', { name: 'TRANSPORT_MISMATCH', transport: 'polling', previousTransport: 'websocket' }],
    ['websocket', { name: 'TRANSPORT_HANDSHAKE_ERROR' }],
  ])('with transport=%s is a bad request', async (transport, context) => {
    const { url, engine } = await startEngine();
    const client = openWebSocket(url);
    const { sid } = JSON.parse(((await client.next()) as string).slice(1)) as { sid: string };
    const reported = eventOf<[ConnectionError]>(engine, 'connection_error');
    const response = await fetch(`${url}&transport=${transport}&sid=${sid}`);
    expect([response.status, await response.json()]).toEqual([400, { code: 3, message: 'Bad request' }]);
    expect((await reported)[0].context).toEqual(context);
    expect(engine.has(sid)).toBe(true);
  });
});
