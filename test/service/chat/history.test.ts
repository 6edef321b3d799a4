import { afterEach, describe, expect, test } from '@jest/globals';
import type { ChatMessage, DirectMessage } from '../../../src/service/chat/protocol.js';
import { type ChatClient, connect, disconnectAll, expectOk, upgraded } from '../../support/clients.js';
import { atEnd } from '../../support/ends.js';
import { sharedServer } from '../../support/server.js';
import { startServiceHere } from '../../support/service-here.js';

const server = sharedServer({ WORKERS: '3' });
afterEach(disconnectAll);

const offsets = (messages: readonly ChatMessage[]) => messages.map(({ offset }) => offset);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('rooms', () => {
  test('what is acknowledged can be read, page by page and both ways, also after a restart', async () => {
    const writer = connect(server.url);
    const joined = expectOk(await writer.emitWithAck('join', 'pages'));
    expect(joined.offset).toBe(0);
    for (const number of upTo(7)) expectOk(await writer.emitWithAck('message', { room: 'pages', text: `${number}` }));
    await server.restart();
    const reader = connect(server.url);
    const first = expectOk(await reader.emitWithAck('history', { room: 'pages', after: 0, limit: 3 }));
    expect(first).toMatchObject({ after: 0, offset: 7, complete: true });
    expect(offsets(first.messages as ChatMessage[])).toEqual([1, 2, 3]);
    const next = expectOk(
      await reader.emitWithAck('history', { room: 'pages', tag: first.messages[2]!.tag!, after: 3 }),
    );
    expect(offsets(next.messages as ChatMessage[])).toEqual([4, 5, 6, 7]);
    const back = expectOk(await reader.emitWithAck('history', { room: 'pages', before: 6, limit: 2 }));
    expect(back.messages).toEqual(next.messages.slice(0, 2));
    const lost = expectOk(await reader.emitWithAck('history', { room: 'pages', tag: first.tag, after: 3 }));
    expect(lost).toMatchObject({ complete: false, lost: true, after: 7 });
    expect(expectOk(await reader.emitWithAck('join', 'pages'))).toMatchObject({ offset: 7, tag: first.tag });
  });

  test('a page that makes no sense is refused', async () => {
    const client = connect(server.url);
    for (const page of [{ after: -1 }, { limit: 0 }, { limit: 1001 }, { before: 1.5 }, { tag: 'x' }]) {
      expect(await client.emitWithAck('history', { room: 'pages', ...page } as never)).toMatchObject({
        code: 'BAD_PAGE',
      });
    }
  });
});

describe('direct messages', () => {
  test('reach every socket of both users, in order, and are kept for one who is away', async () => {
    const ann = await Promise.all([1, 2].map(async () => connectAs('ann')));
    const bob = await Promise.all([1, 2].map(async () => connectAs('bob')));
    const received = [...ann, ...bob].map(
      (client) =>
        new Promise<DirectMessage[]>((resolve) => {
          const heard: DirectMessage[] = [];
          client.on('direct', (message) => {
            heard.push(message);
            if (heard.length === 20) resolve(heard);
          });
        }),
    );
    await Promise.all(
      upTo(10).flatMap((number) => [
        ann[0]!.emitWithAck('direct', { to: 'bob', text: `a${number}` }),
        bob[1]!.emitWithAck('direct', { to: 'ann', text: `b${number}` }),
      ]),
    );
    const all = await Promise.all(received);
    for (const messages of all) expect(messages).toEqual(all[0]);
    expect(all[0]!.map(({ offset }) => offset)).toEqual(upTo(20));
    expect(all[0]![0]).toMatchObject(all[0]![0]!.from === 'ann' ? { to: 'bob' } : { from: 'bob', to: 'ann' });

    expectOk(await ann[0]!.emitWithAck('direct', { to: 'carol', text: 'for later' }));
    const carol = await connectAs('carol');
    const kept = expectOk(await carol.emitWithAck('history', { with: 'ann', after: 0 }));
    expect(kept.messages).toMatchObject([{ from: 'ann', to: 'carol', text: 'for later', offset: 1 }]);
  });

  test('the first between two users does not wait for others', async () => {
    const alone = await startServiceHere({ WORKERS: '1' });
    atEnd(() => alone.stop());
    const [dora, emil] = [
      connect(alone.url, { auth: { name: 'dora' } }),
      connect(alone.url, { auth: { name: 'emil' } }),
    ];
    await Promise.all([dora, emil].map(upgraded));
    const heard: string[] = [];
    emil.on('direct', ({ text }) => heard.push(text));
    expectOk(await dora.emitWithAck('direct', { to: 'emil', text: 'hello' }));
    // It is on its way before its acknowledgement reaches dora, so this reply comes behind it.
    expectOk(await emil.emitWithAck('join', 'anywhere'));
    expect(heard).toEqual(['hello']);
  });

  async function connectAs(name: string): Promise<ChatClient> {
    const client = connect(server.url, { auth: { name } });
    await upgraded(client);
    return client;
  }
});
