import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Rooms } from '../../../public/gjallar-client.js';
import { MAX_UNREAD_BYTES, MAX_WAITING_PER_CLIENT } from '../../../src/engine/limits/work-queue.js';
import { MAX_PAGE_BYTES } from '../../../src/features/history/store.js';
import { limits } from '../../../src/host/config/options/limits.js';
import type { ChatMessage } from '../../../src/service/chat/protocol.js';
import { connect, disconnectAll, expectOk, upgraded } from '../../support/clients.js';
import { type ServiceHere as RunningServer, startServiceHere as startServer } from '../../support/service-here.js';

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('a server that one client asks for much', () => {
  const key = 'a-key-for-the-test';
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer({ WORKERS: '1', API_KEY: key });
    const text = 'x'.repeat(10_000);
    for (let n = 0; n < 20; n++) {
      const response = await fetch(`${server.url}/api/rooms/large/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ messages: upTo(25).map(() => ({ text })) }),
      });
      expect(response.status).toBe(200);
    }
  });
  afterEach(disconnectAll);
  afterAll(() => server.stop());

  test('a flood of history reads is refused beyond the first few, and others are served meanwhile', async () => {
    const [mallory, alice] = [connect(server.url), connect(server.url)];
    await Promise.all([mallory, alice].map(upgraded));
    const flood = upTo(800).map(() => mallory.timeout(20_000).emitWithAck('history', { room: 'large', limit: 1000 }));
    let answered = 0;
    let flooding = true;
    const done = Promise.all(flood).finally(() => {
      flooding = false;
    });
    while (flooding) {
      expectOk(await alice.emitWithAck('join', 'hall'));
      answered++;
    }
    const replies = await done;
    const served = replies.filter(({ ok }) => ok) as { messages: ChatMessage[] }[];
    const refused = replies.flatMap((reply) => (reply.ok ? [] : [reply.code]));
    expect(served.length).toBeGreaterThanOrEqual(MAX_WAITING_PER_CLIENT);
    expect(served.length).toBeLessThan(100);
    expect(new Set(refused)).toEqual(new Set(['RATE_LIMITED']));
    for (const page of served) expect(JSON.stringify(page).length).toBeLessThan(1.1 * MAX_PAGE_BYTES);
    // Between the reads, not after all of them.
    expect(answered).toBeGreaterThan(2);
  });

  test('a client that is in many rooms gets what it missed in each', async () => {
    const names = upTo(40).map((n) => `one of many ${n}`);
    const writer = connect(server.url);
    for (const room of names) {
      expectOk(await writer.emitWithAck('join', room));
      expectOk(await writer.emitWithAck('message', { room, text: room }));
    }
    const heard = new Set<string>();
    const refused: unknown[] = [];
    const rooms = new Rooms(connect(server.url));
    await new Promise<void>((resolve, reject) => {
      const onMessage = ({ text }: { text: string }) => {
        heard.add(text);
        if (heard.size === names.length) resolve();
      };
      const onRefused = (error: unknown) => refused.push(error);
      Promise.all(names.map((name) => rooms.join(name, { last: 5, onMessage, onRefused }))).catch(reject);
    });
    expect(refused).toEqual([]);
    rooms.close();
  });
});

test('a page leaves a place for other messages to a client on a slow link', () => {
  const most = MAX_UNREAD_BYTES + 1.1 * MAX_PAGE_BYTES;
  expect(most).toBeLessThan(0.9 * Number(limits.maxBackpressure.default));
});
