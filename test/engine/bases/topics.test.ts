import { afterEach, describe, expect, test } from '@jest/globals';
import type { NativeWebSocket } from '../../../src/engine/http/exchange.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';
import { bases, closeApps, start } from './support/bases.js';

afterEach(() => {
  closeWebSockets();
  closeApps();
});

describe.each(bases)('the %s base', (_name, base) => {
  /** Clients that have joined the topic `all`, and the WebSockets of the server. */
  async function members(count: number) {
    const opened: NativeWebSocket[] = [];
    const { app, port } = await start(base, (made) =>
      made.ws('/*', {
        open: (ws) => {
          opened.push(ws);
          ws.subscribe('all');
        },
      }),
    );
    const clients = [];
    for (let n = 0; n < count; n++) {
      const client = openWebSocket(`http://127.0.0.1:${port}/?a=b`);
      await client.status;
      clients.push(client);
    }
    return { app, opened, clients };
  }

  test('a message reaches all members, as text or as bytes, and no others', async () => {
    const { app, opened, clients } = await members(3);
    opened[2]!.unsubscribe('all');
    expect(app.publish('all', 'text', false, false)).toBe(true);
    expect(app.publish('all', Buffer.from([1, 2, 3]), true, false)).toBe(true);
    expect(app.publish('none', 'lost', false, false)).toBe(false);
    for (const ws of opened) ws.send('fence', false, false);
    for (const client of clients.slice(0, 2)) {
      expect([await client.next(), await client.next(), await client.next()]).toEqual([
        'text',
        Buffer.from([1, 2, 3]),
        'fence',
      ]);
    }
    expect(await clients[2]!.next()).toBe('fence');
  });

  test('members are counted, and each knows its topics', async () => {
    const { app, opened } = await members(2);
    const [ws] = opened;
    expect(app.numSubscribers('all')).toBe(2);
    expect(ws!.subscribe('b')).toBe(true);
    ws!.subscribe('b');
    expect(app.numSubscribers('b')).toBe(1);
    expect([...ws!.getTopics()].sort()).toEqual(['all', 'b']);
    expect([ws!.unsubscribe('b'), ws!.unsubscribe('b'), ws!.unsubscribe('never')]).toEqual([true, false, false]);
    expect([app.numSubscribers('b'), app.numSubscribers('never')]).toEqual([0, 0]);
    expect(ws!.getTopics()).toEqual(['all']);
  });

  test('messages of topics and single ones keep their order', async () => {
    const { app, opened, clients } = await members(2);
    const [ws] = opened;
    ws!.subscribe('one');
    const wanted: string[] = [];
    for (let n = 0; n < 100; n++) {
      app.publish('all', `all ${n}`, false, false);
      ws!.send(`single ${n}`, false, false);
      app.publish('one', `one ${n}`, false, false);
      wanted.push(`all ${n}`, `single ${n}`, `one ${n}`);
    }
    for (const message of wanted) expect(await clients[0]!.next()).toBe(message);
    for (let n = 0; n < 100; n++) expect(await clients[1]!.next()).toBe(`all ${n}`);
  });

  test('each app has topics of its own', async () => {
    const one = await members(1);
    const other = await members(1);
    one.app.publish('all', 'one', false, false);
    other.app.publish('all', 'other', false, false);
    expect([await one.clients[0]!.next(), await other.clients[0]!.next()]).toEqual(['one', 'other']);
  });
});
