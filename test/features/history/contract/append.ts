import { describe, expect, test } from '@jest/globals';
import { type Acknowledged, appendInProcess } from '../support/process.js';
import { changesFrom, count, HOUR, offsets, readAll, type Subject, say, texts } from './subject.js';

export function appendContract(subject: Subject): void {
  describe('append', () => {
    test('keeps the messages of one append together, whoever else appends', async () => {
      const others = [subject.store, await subject.open(), await subject.open()];
      const appends = count(0, 59).map((n) =>
        others[n % 3]!.append(
          subject.room,
          count(0, 9).map((m) => say(`${n}.${m}`)),
        ),
      );
      const positions = await Promise.all(appends);
      const all = await readAll(subject.store, subject.room);
      expect(offsets(all)).toEqual(count(1, 600));
      for (const [n, own] of positions.entries()) {
        expect(offsets(own)).toEqual(count(own[0]!.offset, own[0]!.offset + 9));
        expect(texts(all.slice(own[0]!.offset - 1, own[9]!.offset))).toEqual(count(0, 9).map((m) => `${n}.${m}`));
      }
    });

    test('leaves no gap and gives no offset twice over several processes', async () => {
      const authors = ['a', 'b', 'c'];
      const acknowledged = await Promise.all(
        authors.map((name) => appendInProcess(subject.harness.options, subject.room, name, 300)),
      );
      const all = await readAll(subject.store, subject.room);
      expect(offsets(all)).toEqual(count(1, 900));
      expectKept(all, acknowledged.flat());
    });

    test('has kept what it acknowledged when processes are killed in the middle', async () => {
      const killed = ['a', 'b'].map((name) =>
        appendInProcess(subject.harness.options, subject.room, name, 1_000_000, (lines) => lines.length >= 200),
      );
      const survivor = appendInProcess(subject.harness.options, subject.room, 'c', 500);
      const acknowledged = (await Promise.all([...killed, survivor])).flat();
      expect(acknowledged.length).toBeGreaterThanOrEqual(900);
      const [next] = await subject.store.append(subject.room, [say('after')]);
      const all = await readAll(subject.store, subject.room);
      expect(offsets(all)).toEqual(count(1, next!.offset));
      expectKept(all, acknowledged);
    });

    test.each(['', 'a\0b', '\0', 'naïve 😀 日本', `it's "quoted" \\ \n`, '{"json":[1]}', 'x'.repeat(100_000)])(
      'keeps any text as it is: %j',
      async (text) => {
        const at = Date.now();
        const name = `${subject.room} ${text.slice(0, 20)}}{`;
        await subject.store.append(name, [{ from: text.slice(0, 20), text, at }], { key: `${text.slice(0, 9)}:` });
        const { messages, tag } = await subject.store.read(name, { after: 0, limit: 10 });
        expect(messages).toEqual([{ from: text.slice(0, 20), text, at, offset: 1, tag }]);
      },
    );

    test('takes names that mean something elsewhere', async () => {
      for (const name of [
        '__proto__',
        'constructor',
        `${subject.room}\0`,
        `${subject.room}\0x`,
        `${subject.room}:1`,
        ' ',
      ]) {
        expect(offsets(await subject.store.append(name, [say('x')], { key: 'k' }))).toEqual([1]);
      }
    });

    test('can be checked beforehand, which leaves nothing behind', async () => {
      const [{ offset, tag } = { offset: 0, tag: 0 }] = await subject.store.append(subject.room, [say('a')]);
      const { cursor } = await changesFrom(subject.store, undefined, 100);
      expect(await subject.store.append(subject.room, [])).toEqual([]);
      expect(await subject.store.head(subject.room)).toEqual({ offset, tag });
      expect((await changesFrom(subject.store, cursor, 100)).changes).toEqual([]);
    });

    test('refuses what cannot be kept', async () => {
      await expect(subject.store.append('', [say('x')])).rejects.toThrow(RangeError);
      await expect(subject.store.append(subject.room, [say('x', Number.NaN)])).rejects.toThrow(RangeError);
      await expect(subject.store.append(subject.room, [say('x', 1.5)])).rejects.toThrow(RangeError);
      const bad = { code: 'BAD_INPUT' };
      await expect(subject.store.append(subject.room, [say(7 as unknown as string)])).rejects.toMatchObject(bad);
      // UTF-8 has none, so it would be read as another text.
      const half = '\ud83d';
      await expect(subject.store.append(subject.room, [say(half)])).rejects.toMatchObject(bad);
      await expect(subject.store.append(subject.room, [{ ...say('x'), from: half }])).rejects.toMatchObject(bad);
      await expect(subject.store.append(subject.room, [say('x')], { key: half })).rejects.toMatchObject(bad);
      await expect(subject.store.append(`${subject.room}${half}`, [say('x')])).rejects.toMatchObject(bad);
      await expect(subject.store.read(`${subject.room}${half}`, { limit: 1 })).rejects.toMatchObject(bad);
      await expect(subject.store.append(subject.room, Array(1001).fill(say('x')))).rejects.toThrow(RangeError);
      await expect(subject.store.read(subject.room, { limit: 0 })).rejects.toThrow(RangeError);
      await expect(subject.store.read(subject.room, { limit: 1001 })).rejects.toThrow(RangeError);
      await expect(subject.store.read(subject.room, { after: -1, limit: 1 })).rejects.toThrow(RangeError);
      expect((await subject.store.head(subject.room)).offset).toBe(0);
    });

    test('rejects when there is no room, keeps nothing then, and goes on without a gap afterwards', async () => {
      await subject.store.append(subject.room, [say('before')]);
      await subject.harness.refuse();
      const refused = { name: 'HistoryError', code: 'HISTORY_REFUSED' };
      const big = say('x'.repeat(20_000));
      await expect(subject.store.append(subject.room, Array(200).fill(big))).rejects.toMatchObject(refused);
      await expect(subject.store.append(`${subject.room} 2`, Array(200).fill(big))).rejects.toMatchObject(refused);
      expect(texts((await subject.store.read(subject.room, { limit: 5 })).messages)).toEqual(['before']);
      await subject.harness.accept();
      expect(offsets(await subject.store.append(subject.room, [say('after')]))).toEqual([2]);
      expect(offsets(await subject.store.append(`${subject.room} 2`, [say('after')]))).toEqual([1]);
    });
  });
}

export function keyContract(subject: Subject): void {
  describe('an idempotency key', () => {
    test('counts among appends at the same time', async () => {
      const append = (key: string) => subject.store.append(subject.room, [say('a'), say('b')], { key });
      const results = await Promise.all([append('1'), append('1'), append('2'), append('1')]);
      expect(results.map(offsets)).toEqual([
        [1, 2],
        [1, 2],
        [3, 4],
        [1, 2],
      ]);
      expect(results.map(([first]) => first!.duplicate ?? false)).toEqual([false, true, false, true]);
      expect(texts(await readAll(subject.store, subject.room))).toEqual(['a', 'b', 'a', 'b']);
    });

    test('counts from its append on, whatever the time of the message is, and longer than the message is kept', async () => {
      const store = await subject.open({ ttlMs: HOUR });
      const now = Date.now();
      const append = () => store.append(subject.room, [say('a', now - HOUR + 1000)], { key: 'k' });
      const [first] = await append();
      expect(await store.trim(now + 2000)).toBe(1);
      expect(await append()).toMatchObject([{ offset: 1, tag: first!.tag, duplicate: true }]);
    });
  });
}

function expectKept(
  all: readonly { from: string; text: string; offset: number }[],
  acknowledged: Acknowledged[],
): void {
  for (const { from, text, offset } of acknowledged) expect(all[offset - 1]).toMatchObject({ from, text, offset });
}
