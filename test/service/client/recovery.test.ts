import { afterEach, expect, test } from '@jest/globals';
import { type Recovery, Rooms } from '../../../public/gjallar-client.js';
import { type ChatClient, connect, connected, disconnectAll, expectOk } from '../../support/clients.js';
import { Member, quick, upTo } from './support/member.js';
import '../../support/long.js';
import { sharedServer } from '../../support/server.js';

const server = sharedServer({ WORKERS: '2' });
afterEach(disconnectAll);

test('who comes later gets as much of what was said before as they ask for', async () => {
  const writer = connect(server.url);
  expectOk(await writer.emitWithAck('join', 'before'));
  for (const number of upTo(1, 9)) expectOk(await writer.emitWithAck('message', { room: 'before', text: `${number}` }));
  const reader = new Member(server.url);
  const before = await reader.join('before', 4);
  expect(reader.offsets()).toEqual([6, 7, 8, 9]);
  expect(reader.recoveries).toEqual([{ room: 'before', missed: 4, complete: true, isFirst: true }]);
  expect(before.position).toMatchObject({ offset: 9 });
  const newcomer = new Member(server.url);
  await newcomer.join('before');
  expectOk(await writer.emitWithAck('message', { room: 'before', text: '10' }));
  await newcomer.until(() => newcomer.heard.length === 1);
  expect(newcomer.offsets()).toEqual([10]);
  await expect(newcomer.rooms.join('x'.repeat(200))).rejects.toMatchObject({ code: 'BAD_ROOM' });
});

test('a position of messages that are gone is told from one that is not', async () => {
  const writer = connect(server.url);
  expectOk(await writer.emitWithAck('join', 'gone'));
  for (const text of ['a', 'b']) expectOk(await writer.emitWithAck('message', { room: 'gone', text }));
  const heard: string[] = [];
  const recoveries: Recovery[] = [];
  await new Rooms(connect(server.url)).join('gone', {
    position: { offset: 7, tag: 1 },
    onMessage: ({ text }) => heard.push(text),
    onRecovered: (recovery) => recoveries.push(recovery),
  });
  expect(heard).toEqual(['a', 'b']);
  expect(recoveries).toMatchObject([{ complete: false, missed: 2 }]);
});

test('every acknowledged message arrives at every member once and in order, through cuts', async () => {
  const members = [undefined, ['websocket'], ['polling'], undefined, ['websocket'], undefined].map(
    (transports) => new Member(server.url, transports),
  );
  await Promise.all(members.map((member) => member.join('storm')));
  const talkers = [1, 2, 3].map(() => connect(server.url, quick));
  const acknowledged: { offset: number; text: string }[] = [];
  const each = 150;

  async function talk(talker: ChatClient, number: number): Promise<void> {
    for (let count = 0; count < each; count++) {
      const text = `${number}:${count}`;
      try {
        await connected(talker);
        expectOk(await talker.timeout(3000).emitWithAck('join', 'storm'));
        const { offset } = expectOk(await talker.timeout(3000).emitWithAck('message', { room: 'storm', text }));
        acknowledged.push({ offset: offset!, text });
      } catch {
        // Not acknowledged: it may have arrived or not.
      }
      if (count % 10 === number) members[Math.floor(Math.random() * members.length)]!.socket.io.engine.close();
    }
  }

  await Promise.all(talkers.map(talk));
  expect(acknowledged.length).toBeGreaterThan(each * 2);
  const last = Math.max(...acknowledged.map(({ offset }) => offset));
  for (const member of members) {
    await member.until(() => (member.heard.at(-1)?.offset ?? 0) >= last);
    const offsets = member.offsets();
    expect(offsets).toEqual(upTo(1, offsets.length));
    for (const { offset, text } of acknowledged) expect(member.heard[offset - 1]!.text).toBe(text);
    expect(member.recoveries.every(({ complete }) => complete)).toBe(true);
  }
  expect(members.some(({ recoveries }) => recoveries.some(({ missed }) => missed > 0))).toBe(true);
});
