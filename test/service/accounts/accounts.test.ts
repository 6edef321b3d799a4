import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { WebSocket } from 'ws';
import { type ErrorCode, errorCodes } from '../../../src/base/errors.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk, nextEvent } from '../../support/clients.js';
import { type MovableClock, movableClock } from '../../support/clock.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { type ServiceHere, startServiceHere } from '../../support/service-here.js';
import { SECRET } from '../../support/tokens.js';

const secret = new TextEncoder().encode(SECRET);
const plains = new Set<WebSocket>();

type Service = Pick<RunningServer, 'url'>;

interface TokenOptions {
  issuer?: string;
  audience?: string;
  /** In s from now. */
  expires?: number;
}

type Claims = Record<string, unknown>;

function draft(claims: Claims, { issuer = 'us', audience = 'chat', expires = 3600 }: TokenOptions = {}): SignJWT {
  const signed = new SignJWT({ sub: 'ann', ...claims }).setIssuer(issuer).setAudience(audience);
  return signed.setExpirationTime(Math.floor(Date.now() / 1000) + expires);
}

function tokenOf(claims: Claims = {}, options: TokenOptions = {}, key: Uint8Array = secret): Promise<string> {
  return draft(claims, options).setProtectedHeader({ alg: 'HS256' }).sign(key);
}

function connectWith(server: Service, token: unknown, transports?: string[]): ChatClient {
  return connect(server.url, { auth: { token, name: 'somebody else' }, transports });
}

async function refusalOf(server: Service, token: unknown): Promise<unknown> {
  const [error] = await nextEvent<[Error & { data?: unknown }]>(connectWith(server, token), 'connect_error');
  return error.data;
}

function plain(server: Service, path: string): WebSocket {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`);
  socket.on('error', () => {});
  plains.add(socket);
  return socket;
}

async function statusOf(socket: WebSocket): Promise<number> {
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
  return response.statusCode;
}

afterEach(() => {
  disconnectAll();
  for (const socket of plains) socket.terminate();
  plains.clear();
});

describe('with JWT_SECRET', () => {
  let server: ServiceHere;
  let clock: MovableClock;
  const call = async (path: string, token: string, body?: unknown) => {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${server.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return (await response.json()) as Record<string, unknown>;
  };

  beforeAll(async () => {
    const expected = { JWT_ISSUER: 'us', JWT_AUDIENCE: 'chat' };
    server = await startServiceHere({ JWT_SECRET: SECRET, ...expected, API_KEY: 'key', WORKERS: '1' });
    clock = movableClock();
  });
  afterAll(async () => {
    disconnectAll();
    await server.stop();
  });

  test.each<[what: string, code: ErrorCode, token: () => unknown]>([
    ['no token', 'TOKEN_MISSING', () => undefined],
    ['no string', 'TOKEN_INVALID', () => 7],
    ['no token at all', 'TOKEN_INVALID', () => 'x.y.z'],
    ['one that has expired', 'TOKEN_EXPIRED', () => tokenOf({}, { expires: -1 })],
    ['one of another issuer', 'TOKEN_ISSUER', () => tokenOf({}, { issuer: 'them' })],
    ['one for another audience', 'TOKEN_AUDIENCE', () => tokenOf({}, { audience: 'shop' })],
    ['one without a signature', 'TOKEN_INVALID', () => unsigned()],
    ['one with another key', 'TOKEN_INVALID', () => tokenOf({}, {}, new TextEncoder().encode('x'.repeat(40)))],
    ['one that is not good yet', 'TOKEN_INVALID', () => tokenOf({ nbf: Math.floor(Date.now() / 1000) + 1000 })],
  ])('%s is refused: %s', async (_, code, token) => {
    const given = await token();
    const { status, message } = errorCodes[code];
    expect(await refusalOf(server, given)).toEqual({ ok: false, code, message });
    if (typeof given !== 'string') return;
    expect(await statusOf(plain(server, `/room?token=${given}`))).toBe(status);
    expect(await call('/api/rooms/room/messages', given)).toEqual({ ok: false, code, message });
  });

  function unsigned(): string {
    const claims = new UnsecuredJWT({ sub: 'ann' }).setIssuer('us').setAudience('chat');
    return claims.setExpirationTime('1h').encode();
  }

  test('the name comes from the token, whatever the client says', async () => {
    for (const [claims, name] of [
      [{}, 'ann'],
      [{ sub: 'ann2', name: 'Ann Other' }, 'ann2'],
    ] as const) {
      const client = connectWith(server, await tokenOf(claims));
      expectOk(await client.emitWithAck('join', `names of ${name}`));
      expect(expectOk(await client.emitWithAck('who', `names of ${name}`)).users).toEqual([name]);
    }
  });

  test.each([[['websocket']], [['polling']]])('a connection over %s ends when its token does', async (transports) => {
    const client = connectWith(server, await tokenOf({}, { expires: 6 }), transports);
    const disconnected = nextEvent(client, 'disconnect');
    await connected(client);
    await clock.ahead(6000);
    expect((await disconnected)[0]).toBe('io server disconnect');
  });

  test('a plain WebSocket ends when its token does', async () => {
    const socket = plain(server, `/room?token=${await tokenOf({}, { expires: 6 })}`);
    const closed = once(socket, 'close') as Promise<[number, Buffer]>;
    await once(socket, 'open');
    await clock.ahead(6000);
    const [code, reason] = await closed;
    expect([code, `${reason}`]).toEqual([1008, 'TOKEN_EXPIRED']);
  });

  test('a new token keeps the connection, and brings its own rights; one of somebody else is refused', async () => {
    const client = connectWith(server, await tokenOf({}, { expires: 6 }));
    const witness = connectWith(server, await tokenOf({}, { expires: 8 }));
    const witnessEnded = nextEvent(witness, 'disconnect');
    await connected(witness);
    for (const room of ['hall', 'attic']) expectOk(await client.emitWithAck('join', room));
    const next = await tokenOf({ rooms: { join: ['hall'] } });
    expect(await client.emitWithAck('token', await tokenOf({ sub: 'bob' }))).toMatchObject({
      code: 'TOKEN_OTHER_USER',
    });
    expect(await client.emitWithAck('token', 'x')).toMatchObject({ code: 'TOKEN_INVALID' });
    const reply = expectOk(await client.emitWithAck('token', next));
    expect(reply).toEqual({ ok: true, name: 'ann', expires: expect.any(Number) });
    expect(await client.emitWithAck('message', { room: 'attic', text: 'x' })).toMatchObject({ code: 'NOT_IN_ROOM' });
    // It outlives one whose token ended later than its own first one.
    await clock.ahead(8000);
    await witnessEnded;
    expectOk(await client.emitWithAck('message', { room: 'hall', text: 'still here' }));
  });
});

describe('with JWKS_URL', () => {
  let keyServer: Server;
  let server: RunningServer;
  let away: RunningServer;
  const keys = new Map<string, Awaited<ReturnType<typeof generateKeyPair>>>();
  const algorithms = ['RS256', 'ES256', 'EdDSA'];
  const sign = (alg: string, kid = alg) => draft({}).setProtectedHeader({ alg, kid }).sign(keys.get(kid)!.privateKey);

  beforeAll(async () => {
    const published: object[] = [];
    for (const alg of [...algorithms, 'RS384']) {
      const pair = await generateKeyPair(alg, { extractable: true });
      keys.set(alg, pair);
      published.push({ ...(await exportJWK(pair.publicKey)), kid: alg });
    }
    keys.set('stranger', await generateKeyPair('RS256'));
    keyServer = createServer((_, response) => response.end(JSON.stringify({ keys: published })));
    keyServer.listen(0, '127.0.0.1');
    await once(keyServer, 'listening');
    const { port } = keyServer.address() as AddressInfo;
    [server, away] = await Promise.all([
      startServer({ JWKS_URL: `http://127.0.0.1:${port}/keys`, JWT_ISSUER: 'us', WORKERS: '1' }),
      startServer({ JWKS_URL: 'http://127.0.0.1:1/keys', WORKERS: '1' }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([server.stop(), away.stop()]);
    keyServer.closeAllConnections();
    keyServer.close();
  });

  test.each(algorithms)('a token signed with %s lets in', async (alg) => {
    const client = connectWith(server, await sign(alg));
    await connected(client);
  });

  test('other algorithms, strangers, and public keys taken for secrets do not', async () => {
    const modulus = (await exportJWK(keys.get('RS256')!.publicKey)).n!;
    const confused = draft({}).setProtectedHeader({ alg: 'HS256', kid: 'RS256' }).sign(Buffer.from(modulus));
    const impostor = draft({}).setProtectedHeader({ alg: 'RS256', kid: 'RS256' });
    for (const token of [
      await sign('RS384'),
      await sign('RS256', 'stranger'),
      await impostor.sign(keys.get('stranger')!.privateKey),
      await confused,
    ]) {
      expect(await refusalOf(server, token)).toMatchObject({ code: 'TOKEN_INVALID' });
    }
  });

  test('no client is admitted while the keys are unavailable', async () => {
    expect(await refusalOf(away, await sign('RS256'))).toMatchObject({ code: 'ACCOUNTS_UNAVAILABLE' });
  });

  test('a start without JWT_ISSUER or JWT_AUDIENCE logs a warning', async () => {
    for (const [where, warning] of [
      [server, /^set JWT_AUDIENCE;/],
      [away, /^set JWT_ISSUER and JWT_AUDIENCE;/],
    ] as const) {
      await where.logged(({ msg }) => warning.test(msg ?? ''));
    }
  });
});
