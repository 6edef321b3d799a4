import fc from 'fast-check';
import { nextEvent } from '../../../support/clients.js';
import { pairOn } from './clients.js';
import type { TestNode } from './node.js';

type Target = { emit(event: string, ...values: unknown[]): unknown };

/** What became of a value: it arrived, it was rejected by `emit()`, or it broke the connections of its recipients. */
export type Outcome = { arrived: unknown } | { thrown: string } | 'broken';

const eight = new Uint8Array([0, 1, 2, 3, 250, 251, 252, 253, 254, 255, 10, 11, 12, 13, 14, 15, 16, 17]).buffer;

/** Views of every class, on bytes before and behind which there are others. */
const views = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
].map((View) => new View(eight, 8, 8 / View.BYTES_PER_ELEMENT));

class Money {
  constructor(private readonly amount: unknown) {}

  toJSON(): unknown {
    return { amount: this.amount };
  }
}

function cycle(): object {
  const one: { self?: object } = {};
  one.self = one;
  return one;
}

/** One value of each kind at least. */
const kindsOfValues: readonly unknown[] = [
  ...views,
  new DataView(eight, 3, 9),
  eight,
  new ArrayBuffer(0),
  new Uint16Array(new SharedArrayBuffer(6)),
  new SharedArrayBuffer(4),
  Buffer.from('a Buffer'),
  Buffer.from(eight, 2, 5),
  Buffer.alloc(70_000, 7),
  new Float64Array(10_000).fill(1.5),
  new Blob(['blob']),
  new File(['file'], 'name'),
  { nested: [new DataView(eight, 1, 2), { deeper: new Uint32Array(eight, 4, 2) }, new Blob(['inside'])] },
  { nested: [eight, { deeper: new Float32Array(eight, 4, 2) }] },
  '\ud800 alone \udc00',
  'x'.repeat(5000),
  '\ud83d\ude00 \u2028 \0 "\\',
  { '\udfff': '\ud800' },
  new Money(5),
  new Money(new Uint16Array(eight, 2, 2)),
  { toJSON: () => new DataView(eight, 0, 3) },
  {
    toJSON: () => {
      throw new RangeError('no JSON');
    },
  },
  new Date(0),
  new Date(Number.NaN),
  new Map([[1, 2]]),
  new Set([1]),
  /expression/,
  new Error('an error'),
  [undefined, () => 1, Symbol('symbol'), Number.NaN, Number.POSITIVE_INFINITY, -0],
  { undefined, method() {}, symbol: Symbol('symbol') },
  undefined,
  null,
  1n,
  { deep: [1n] },
  [eight, 1n],
  cycle(),
  [Buffer.from('before'), cycle()],
  Object.create(null),
  Object.assign(Object.create({ inherited: 1 }), { own: 2 }),
];

const loneSurrogates = fc.array(fc.integer({ min: 0, max: 0xffff })).map((codes) => String.fromCharCode(...codes));

/** A view of any class on a part of some bytes. */
const view = fc
  .tuple(fc.uint8Array({ minLength: 16, maxLength: 40 }), fc.nat(views.length), fc.nat(1))
  .map(([bytes, kind, at]) => {
    const { buffer } = Uint8Array.from(bytes);
    const View = views[kind]?.constructor as typeof Uint8Array | undefined;
    return View ? new View(buffer, 8 * at, 1) : new DataView(buffer, at, 7);
  });

const leaf = fc.oneof(
  view,
  loneSurrogates,
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.from(bytes).buffer),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom(...kindsOfValues),
);

/** Few enough for the attachments that a client accepts in one packet. */
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: leaf },
  { weight: 1, arbitrary: fc.array(leaf, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.string(), leaf, { maxKeys: 3, noNullPrototype: true }) },
  { weight: 1, arbitrary: leaf.map((value) => new Money([value])) },
);

/** Bytes as a text, so that it does not matter in which class a client gets them. */
export function comparable(value: unknown): unknown {
  if (ArrayBuffer.isView(value))
    return `bytes ${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  if (value instanceof ArrayBuffer) return comparable(new Uint8Array(value));
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, comparable(one)]));
}

/** Calls `emit()`, and says what it threw. */
export function thrownBy(emit: () => unknown): Outcome | undefined {
  try {
    emit();
    return undefined;
  } catch (error) {
    return { thrown: (error as { code?: string }).code ?? (error as Error).name };
  }
}

/** What stock socket.io makes of each value, in one process, for one client. */
export async function outcomesOnStock(
  node: Pick<TestNode, 'io' | 'url'>,
  values: readonly unknown[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let { client } = await pairOn(node);
  for (const value of values) {
    const arrived = new Promise<Outcome>((resolve) => {
      client.once('value', (one: unknown) => resolve({ arrived: comparable(one) }));
      client.once('disconnect', () => resolve('broken'));
    });
    outcomes.push(thrownBy(() => node.io.emit('value', value)) ?? (await arrived));
    client.off('value');
    client.off('disconnect');
    if (outcomes.at(-1) === 'broken') ({ client } = await pairOn(node));
  }
  client.disconnect();
  return outcomes;
}

/**
 * What an application should see: all as on stock. Where stock sends what ends the connection of each recipient, `emit()`
 * throws.
 */
export const expectedOf = (onStock: readonly Outcome[]): Outcome[] =>
  onStock.map((outcome) => (outcome === 'broken' ? { thrown: 'BAD_INPUT' } : outcome));

/** Holds a check for values of each kind, and for others. */
export async function forValues(
  stock: Pick<TestNode, 'io' | 'url'>,
  check: (values: readonly unknown[], onStock: Outcome[]) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(anyValue, { minLength: 10, maxLength: 40 }), async (values) =>
      check(values, await outcomesOnStock(stock, values)),
    ),
    { numRuns: 5, examples: [[[...kindsOfValues]]] },
  );
}

interface Receiver {
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  off(event: string, listener: (...values: unknown[]) => void): unknown;
  once(event: string, listener: (...values: never[]) => void): unknown;
}

/** A way from `emit()` to clients, which keeps the order. */
export interface Way {
  readonly target: Target;
  readonly receivers: readonly Receiver[];
  /** By default, what is sent arrives by itself. */
  readonly arrive?: () => Promise<unknown>;
}

/** What becomes of values on a way, for each of its receivers. */
export async function outcomesOn({ target, receivers, arrive }: Way, values: readonly unknown[]): Promise<Outcome[][]> {
  const outcomes = receivers.map((): Outcome[] => []);
  const listeners = receivers.map((receiver, which) => {
    const listener = (value: unknown, index: unknown) => {
      outcomes[which]![index as number] = { arrived: comparable(value) };
    };
    receiver.on('value', listener);
    return listener;
  });
  const ended = Promise.all(receivers.map((receiver) => nextEvent(receiver, 'end')));
  for (const [index, value] of values.entries()) {
    const thrown = thrownBy(() => target.emit('value', value, index));
    if (thrown) for (const one of outcomes) one[index] = thrown;
  }
  target.emit('end');
  await arrive?.();
  await ended;
  for (const [which, receiver] of receivers.entries()) receiver.off('value', listeners[which]!);
  return outcomes;
}
