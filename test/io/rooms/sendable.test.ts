import { expect, jest, test } from '@jest/globals';
import { sendable } from '../../../src/base/sendable.js';

class Player {
  constructor(
    readonly name: string,
    readonly timer?: unknown,
  ) {}
}

test('leaves out what JSON cannot express, with one warning that names the first place', () => {
  const emitWarning = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const shared = { x: 1 };
  const cycle: Record<string, unknown> = { list: [1] };
  cycle.self = { cycle };
  const value = {
    shared,
    again: shared,
    bytes: Buffer.of(1),
    date: new Date(0),
    nan: Number.NaN,
    player: new Player('ada'),
    playing: new Player('bob', setTimeout(() => {}).unref()),
    deep: { list: [1, 2n, { ok: true, big: 1n }] },
    cycle,
    get broken(): unknown {
      throw new Error('a getter');
    },
  };
  const sent = sendable(value, 'socket.data');
  expect(sent).toEqual({
    ...{ shared, again: shared, bytes: Buffer.of(1), date: new Date(0), nan: Number.NaN, player: new Player('ada') },
    ...{
      broken: undefined,
      playing: undefined,
      deep: { list: [1, undefined, { ok: true }] },
      cycle: { list: [1], self: {} },
    },
  });
  expect(sent.player).toBe(value.player);
  expect(JSON.stringify(sent)).toContain('"deep":{"list":[1,null,{"ok":true}]}');
  for (const name of ['big', 'other']) sendable({ [name]: 1n }, 'socket.data');
  expect(emitWarning.mock.calls.map(([text]) => String(text))).toEqual([expect.stringContaining('"playing"')]);
  emitWarning.mockRestore();
});

test('an object of a class as the value itself keeps its other properties', () => {
  const emitWarning = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const player = new Player('ada', setTimeout(() => {}).unref());
  expect(sendable(player, 'data')).toEqual({ name: 'ada' });
  const whole = new Player('ada');
  expect(sendable(whole, 'data')).toBe(whole);
  emitWarning.mockRestore();
});

test('takes time in proportion to what is there, however the objects refer to each other', () => {
  const emitWarning = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const objects = Array.from({ length: 500 }, () => ({}) as Record<string, unknown>);
  for (const one of objects) for (const [index, other] of objects.entries()) one[index] = other;
  let nested: unknown = [];
  for (let depth = 0; depth < 100_000; depth++) nested = [nested];
  const text = JSON.stringify(sendable({ objects, nested, name: 'ada' }, 'data'));
  expect(text).toContain('"name":"ada"');
  expect(text.length).toBeLessThan(1_000_000);
  emitWarning.mockRestore();
});

test('leaves out a Blob and a detached buffer, whose bytes cannot be read', () => {
  const emitWarning = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const detached = new ArrayBuffer(4);
  structuredClone(detached, { transfer: [detached] });
  const sent = sendable({ blob: new Blob(['x']), detached, view: Buffer.of(1), plain: 1 }, 'data with a Blob');
  expect(sent).toEqual({ view: Buffer.of(1), plain: 1 });
  expect(emitWarning).toHaveBeenCalledTimes(1);
  emitWarning.mockRestore();
});
