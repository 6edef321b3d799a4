import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { closeCodeOf, errorCodes } from '../../../src/base/errors.js';
import { Engine } from '../../../src/engine/engine.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import type { us_listen_socket } from '../../../src/engine/uws/app.js';
import { PlainWebSockets } from '../../../src/io/plain/index.js';
import type { ChatMessage } from '../../../src/service/chat/protocol.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk } from '../../support/clients.js';
import type { RunningServer } from '../../support/server.js';
import { sharedServer } from '../../support/server.js';
import { startServiceHere } from '../../support/service-here.js';
import { until } from '../../support/until.js';

const open = new Set<WebSocket>();

/** A plain WebSocket whose texts are kept as they come. */
class Plain {
  readonly heard: string[] = [];
  readonly socket: WebSocket;
  private waiting: (() => void) | undefined;

  constructor(url: string, options: { autoPong?: boolean } = {}) {
    this.socket = new WebSocket(url.replace('http', 'ws'), options);
    open.add(this.socket);
    this.socket.on('message', (data, isBinary) => {
      expect(isBinary).toBe(false);
      this.heard.push(String(data));
      this.waiting?.();
    });
  }

  static async join(url: string): Promise<Plain> {
    const plain = new Plain(url);
    await once(plain.socket, 'open');
    return plain;
  }

  /** Resolves when this text has come, with everything up to it. */
  async until(text: string): Promise<string[]> {
    while (this.heard.at(-1) !== text) {
      await new Promise<void>((resolve) => {
        this.waiting = resolve;
      });
    }
    return this.heard;
  }

  async closed(): Promise<[code: number, reason: string]> {
    const [code, reason] = (await once(this.socket, 'close')) as [number, Buffer];
    return [code, reason.toString()];
  }
}

function closeAll(): void {
  for (const socket of open) socket.terminate();
  open.clear();
  disconnectAll();
}

async function join(server: RunningServer, name: string, room: string): Promise<ChatClient> {
  const client = connect(server.url, { auth: { name } });
  await connected(client);
  expectOk(await client.emitWithAck('join', room));
  return client;
}

/** Asks until the room's roster is this: there is no event for who is outside. */
async function rosterIs(client: ChatClient, room: string, users: (string | RegExp)[]): Promise<void> {
  await until(async () => {
    const known: string[] = expectOk(await client.emitWithAck('who', room)).users;
    return known.length === users.length && known.every((user, index) => user.match(users[index]!));
  });
}

describe.each([
  ['with a history', {}],
  ['without a history', { HISTORY_TTL: '0' }],
])('plain WebSockets %s', (_, environment) => {
  const server = sharedServer({ WORKERS: '2', ...environment });
  afterEach(closeAll);

  test('share a room with members of Socket.IO, on all workers', async () => {
    const room = 'å/b?';
    const url = `${server.url}/${encodeURIComponent('å')}/${encodeURIComponent('b?')}`;
    const members = await Promise.all(Array.from({ length: 4 }, (_, index) => join(server, `io${index}`, room)));
    const plains = await Promise.all(Array.from({ length: 6 }, (_, index) => Plain.join(`${url}?name=p${index}`)));
    await rosterIs(members[0]!, room, ['io0', 'io1', 'io2', 'io3', 'p0', 'p1', 'p2', 'p3', 'p4', 'p5']);
    const messages: ChatMessage[][] = members.map(() => []);
    for (const [index, member] of members.entries()) member.on('message', (message) => messages[index]!.push(message));
    const texts: string[] = [];
    for (const [index, plain] of plains.entries()) {
      // One after the other: what is said at once may come in any order.
      const text = `from p${index}: ⚔️`;
      texts.push(text);
      plain.socket.send(text);
      await Promise.all(plains.map((each) => each.until(text)));
    }
    texts.push('the end');
    expectOk(await members[0]!.emitWithAck('message', { room, text: 'the end' }));
    for (const plain of plains) expect(await plain.until('the end')).toEqual(texts);
    for (const heard of messages) {
      while (heard.length < texts.length) await members[0]!.emitWithAck('echo', '');
      expect(heard.map(({ text }) => text)).toEqual(texts);
      expect(heard.map(({ from }) => from)).toEqual(['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'io0']);
      expect(new Set(heard.map((message) => message.room))).toEqual(new Set([room]));
    }
  });

  test('keep the order of one sender, what is said before the room is joined included', async () => {
    const listener = await Plain.join(`${server.url}/order`);
    const talker = await Plain.join(`${server.url}/order`);
    const texts = Array.from({ length: 300 }, (_, index) => `${index}`);
    for (const text of texts.slice(0, 60)) talker.socket.send(text);
    await listener.until('59');
    for (const text of texts.slice(60)) talker.socket.send(text);
    expect(await listener.until('299')).toEqual(texts);
    expect(await talker.until('299')).toEqual(texts);
    const early = new Plain(`${server.url}/order`);
    await once(early.socket, 'open');
    for (const text of ['a', 'b', 'c']) early.socket.send(text);
    expect((await listener.until('c')).slice(-3)).toEqual(['a', 'b', 'c']);
  });

  test('count as guests, and are gone from the roster when they go', async () => {
    const watcher = await join(server, 'watcher', 'guests');
    const guest = await Plain.join(`${server.url}/guests`);
    await rosterIs(watcher, 'guests', [/^guest-[0-9a-f]{6}$/, 'watcher']);
    guest.socket.close();
    expect((await guest.closed())[0]).toBe(1005);
    await rosterIs(watcher, 'guests', ['watcher']);
  });

  test('are closed with the code of what was wrong; empty messages are nothing', async () => {
    const listener = await Plain.join(`${server.url}/refused`);
    const long = await Plain.join(`${server.url}/refused`);
    long.socket.send('x'.repeat(10_001));
    expect(await long.closed()).toEqual([1009, 'BAD_TEXT']);
    for (const [length, close] of [
      [50_000, [1009, 'BAD_TEXT']],
      // No client may keep a long text unfinished.
      [65_537, [1006, '']],
    ] as const) {
      const huge = await Plain.join(`${server.url}/refused`);
      huge.socket.send('x'.repeat(length));
      expect(await huge.closed()).toEqual(close);
    }
    const binary = await Plain.join(`${server.url}/refused`);
    binary.socket.send(Buffer.from('x'));
    expect(await binary.closed()).toEqual([1003, 'BAD_FRAME']);
    listener.socket.send('');
    listener.socket.send('😀'.repeat(10_000));
    expect(await listener.until('😀'.repeat(10_000))).toHaveLength(1);
  });

  test('are rejected without a room, and cannot use paths of the server', async () => {
    const refused: [string, keyof typeof errorCodes][] = [
      ['/', 'BAD_ROOM'],
      ['/%0a', 'BAD_ROOM'],
      ['/%ff', 'BAD_ROOM'],
      [`/${'x'.repeat(129)}`, 'BAD_ROOM'],
      ['/room?name=', 'BAD_NAME'],
      ['/api/rooms', 'NOT_FOUND'],
      ['/socket.io', 'NOT_FOUND'],
    ];
    for (const [path, code] of refused) {
      const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`);
      socket.on('error', () => {});
      const [, response] = (await once(socket, 'unexpected-response')) as [
        unknown,
        NodeJS.ReadableStream & { statusCode: number },
      ];
      let body = '';
      for await (const chunk of response) body += chunk;
      expect([response.statusCode, JSON.parse(body)]).toEqual([
        errorCodes[code].status,
        { ok: false, code, message: errorCodes[code].message },
      ]);
    }
    expect((await fetch(server.url)).headers.get('content-type')).toMatch('text/html');
  });
});

test('a stopping server says goodbye', async () => {
  const server = await startServiceHere({ WORKERS: '1' });
  const plain = await Plain.join(`${server.url}/a`);
  const closed = plain.closed();
  await server.stop();
  expect(await closed).toEqual([1001, 'the server stops']);
});

describe('silence', () => {
  const app = App();
  const engine = new Engine();
  const plain = new PlainWebSockets(engine, { pingAfter: 40, pings: 3 });
  let listening: us_listen_socket;
  let url: string;

  beforeAll(async () => {
    engine.attach(app);
    const guest = {
      room: 'r',
      enter: async () => {},
      say: async () => {},
      leave: () => {},
    };
    plain.attach(app, { admit: async () => guest });
    listening = await new Promise((resolve) => app.listen('127.0.0.1', 0, (socket) => resolve(socket as never)));
    url = `http://127.0.0.1:${us_socket_local_port(listening as never)}/r`;
  });
  afterAll(() => {
    closeAll();
    plain.close();
    engine.close();
    us_listen_socket_close(listening);
    app.close();
  });

  test('brings pings, and the end for who answers none of them', async () => {
    const deaf = new Plain(url, { autoPong: false });
    let pings = 0;
    deaf.socket.on('ping', () => pings++);
    expect((await deaf.closed())[0]).toBe(1006);
    expect(pings).toBe(3);
  });

  test('does no harm to who answers', async () => {
    const alive = await Plain.join(url);
    for (let pings = 0; pings < 6; pings++) await once(alive.socket, 'ping');
    expect(alive.socket.readyState).toBe(WebSocket.OPEN);
  });
});

test('close codes: those of RFC 6455 that fit, else policy violation', () => {
  expect(closeCodeOf('HISTORY_REFUSED')).toBe(1013);
  expect(closeCodeOf('BAD_NAME')).toBe(1008);
});
