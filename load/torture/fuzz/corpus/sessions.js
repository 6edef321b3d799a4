import { gzipSync } from 'node:zlib';
import { Connection, frame, request, upgradeRequest } from '../../../harness/connection.js';
import { PollingClient, WebSocketClient } from '../clients.js';
import { expectSame } from '../mismatch.js';

const POLLING = '/socket.io/?EIO=4&transport=polling';
const WEBSOCKET = '/socket.io/?EIO=4&transport=websocket';

/** What is sent to the engine, to a session, or to the API, that none of them takes. */
export const sessions = {
  'a compressed bomb over polling': async ({ port, use }) => {
    const client = use(await PollingClient.open(port), 'leave');
    const bomb = gzipSync(Buffer.alloc(50_000_000, '4'));
    client.posts.write(request('POST', client.path, { 'Content-Encoding': 'gzip' }, bomb.subarray(0, 40_000)));
    await client.posts.response();
    expectSame(await client.next(), undefined);
  },
  'a compressed bomb for the API': async ({ port, apiKey }) => {
    const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Encoding': 'gzip' };
    const connection = new Connection(port).write(
      request('POST', '/api/rooms/a/messages', headers, gzipSync('{"text":"a"}')),
    );
    expectSame(JSON.parse((await connection.response()).body).code, 'BAD_JSON');
    connection.end();
  },
  'two polls at a time': async ({ port, use }) => {
    const client = use(await PollingClient.open(port), 'leave');
    const polls = [1, 2].map(() => new Connection(port).write(request('GET', client.path)));
    const statuses = (await Promise.all(polls.map((poll) => poll.response()))).map(({ status }) => status);
    expectSame(statuses.sort(), [200, 400]);
    expectSame(await client.next(), undefined);
  },
  'a POST to a session that has its WebSocket': async ({ port, use }) => {
    const client = await PollingClient.open(port);
    const upgrade = new Connection(port).write(upgradeRequest(client.path.replace('=polling', '=websocket')));
    for (const connection of [client.polls, client.posts, upgrade]) use(connection, 'end');
    expectSame((await upgrade.response())?.status, 101);
    upgrade.write(frame('2probe'));
    // It may have been held for its WebSocket; what came back first is the answer to the probe.
    expectSame((await upgrade.frame()).payload.toString(), '3probe');
    upgrade.write(frame('5'));
    upgrade.write(frame('40{}'));
    while (!(await upgrade.frame()).payload.toString().startsWith('44'));
    const response = await client.posts.write(request('POST', client.path, {}, '40')).response();
    expectSame([response.status, JSON.parse(response.body).code], [400, 3]);
  },
  'bodies that a session does not take': async ({ port, maxPayload, use }) => {
    const bodies = [
      [{ 'Content-Type': 'application/octet-stream' }, Buffer.of(0, 255, 4), 400],
      [{}, '4'.repeat(maxPayload + 1), 413],
      [{}, '', 411],
    ];
    for (const [headers, body, status] of bodies) {
      const client = use(await PollingClient.open(port), 'leave');
      expectSame((await client.posts.write(request('POST', client.path, headers, body)).response())?.status, status);
      expectSame(await client.next(), undefined);
    }
  },
  'handshakes that never end': async ({ port }) => {
    const all = Array.from({ length: 100 }, () =>
      new Connection(port).write(`GET ${POLLING} HTTP/1.1\r\nHost: x\r\nA: `),
    );
    const client = await WebSocketClient.open(port);
    client.leave();
    for (const connection of all) connection.vanish();
  },
  'a key that is none': async ({ port, use }) => {
    for (const key of ['', 'x', 'x'.repeat(200)]) {
      const connection = use(new Connection(port), 'end');
      const response = await connection.write(upgradeRequest(WEBSOCKET, { 'Sec-WebSocket-Key': key })).response();
      if (response && response.status < 400) throw new Error(`status ${response.status}`);
    }
  },
  'clients that are gone before they are answered': async ({ port }) => {
    for (let round = 0; round < 50; round++) {
      const connection = new Connection(port).write(upgradeRequest(WEBSOCKET));
      await new Promise((resolve) => setTimeout(resolve, round % 3));
      connection.vanish();
    }
  },
};
