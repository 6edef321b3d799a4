import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { type ChatClient, connect, connected, disconnectAll, nextEvent, workerOf } from '../support/clients.js';
import { untilGone } from '../support/process.js';
import { sharedServer } from '../support/server.js';

const WORKERS = 3;
/** So many that the kernel does not happen to give all of them to one worker. */
const MOST = 20;
/** After so many rejections in a row, each worker has rejected a client. */
const REJECTIONS = 30;
const quick = { transports: ['websocket'], reconnection: false };

/** Resolves with the status of a plain WebSocket's handshake, and the code of a refusal. */
function plain(url: string, headers: Record<string, string> = {}): Promise<{ status: number; code?: string }> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/hall`, { headers });
    socket.on('error', () => {});
    socket.on('open', () => {
      resolve({ status: 101 });
      socket.terminate();
    });
    socket.on('unexpected-response', (_request, response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, code: JSON.parse(body).code }));
    });
  });
}

describe('MAX_CONNECTIONS_PER_IP', () => {
  const server = sharedServer({ WORKERS: String(WORKERS), MAX_CONNECTIONS_PER_IP: String(MOST) });
  afterEach(disconnectAll);

  const comeIn = (): Promise<ChatClient | undefined> => {
    const client = connect(server.url, quick);
    return connected(client).then(
      () => client,
      () => undefined,
    );
  };

  /** Comes until one is let in, as long as that takes. */
  const comeUntilIn = async (): Promise<ChatClient> => {
    for (;;) {
      const client = await comeIn();
      if (client) return client;
    }
  };

  test('is divided by the workers, rounded up, and counts plain WebSockets too', async () => {
    const clients: ChatClient[] = [];
    for (let refused = 0; refused < REJECTIONS; refused++) {
      const client = await comeIn();
      if (!client) continue;
      clients.push(client);
      refused = 0;
    }
    const share = Math.ceil(MOST / WORKERS);
    const perWorker = new Map<number, number>();
    for (const worker of await Promise.all(clients.map((client) => workerOf(client)))) {
      perWorker.set(worker, (perWorker.get(worker) ?? 0) + 1);
    }
    expect([...perWorker.values()]).toEqual(Array(WORKERS).fill(share));
    expect(await plain(server.url)).toEqual({ status: 429, code: 'TOO_MANY_CONNECTIONS' });

    // A client that goes makes room.
    clients.shift()!.disconnect();
    await comeUntilIn();

    // So does a worker that dies.
    const [client] = clients as [ChatClient];
    const worker = await workerOf(client);
    const pid = await server.pidOfWorker(worker);
    const gone = nextEvent(client, 'disconnect');
    process.kill(pid, 'SIGKILL');
    await Promise.all([gone, untilGone(pid)]);
    await comeUntilIn();
  });
});

describe('RATE_LIMIT', () => {
  const server = sharedServer({ WORKERS: '2', RATE_LIMIT: 'events=20/10m,connections=100/10m', TRUST_PROXY: '1' });
  afterEach(disconnectAll);

  const from = (address: string) => ({ ...quick, extraHeaders: { 'X-Forwarded-For': address } });

  test('rejects events in their replies, and disconnects a client that continues', async () => {
    const client = connect(server.url, from('9.9.9.1'));
    await connected(client);
    const disconnected = nextEvent<[string, { context?: { code: number; reason: string } }]>(client, 'disconnect');
    const replies: unknown[] = [];
    for (let i = 0; i < 25; i++) replies.push(await client.emitWithAck('echo', i));
    // Connecting is a message too.
    expect(replies.slice(0, 19)).toEqual(Array.from({ length: 19 }, (_, index) => index));
    for (const reply of replies.slice(19)) expect(reply).toMatchObject({ ok: false, code: 'RATE_LIMITED' });
    expect(await client.emitWithAck('join', 'hall')).toMatchObject({ ok: false, code: 'RATE_LIMITED' });
    for (let i = 0; i < 30; i++) client.emit('echo', i);
    expect((await disconnected)[1]).toMatchObject({ context: { code: 1008, reason: 'RATE_LIMITED' } });
    expect(await server.logged((line) => line.msg === 'a client was disconnected')).toMatchObject({
      code: 'RATE_LIMITED',
      reason: 'rate limit',
      address: '9.9.9.1',
    });
  });

  test('ends a plain WebSocket', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/hall`, {
      headers: { 'X-Forwarded-For': '9.9.9.2' },
    });
    socket.on('open', () => {
      for (let i = 0; i < 21; i++) socket.send('hello');
    });
    const [code, reason] = await nextEvent<[number, Buffer]>(socket as never, 'close');
    expect([code, reason.toString()]).toEqual([1008, 'RATE_LIMITED']);
  });
});
