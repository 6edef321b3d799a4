import { setImmediate as settle } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  BEAT_INTERVAL_MS,
  decodeLinkMessage,
  encodeLinkMessage,
  type LinkMessage,
  linkMessageTypes,
  MAX_LINK_MESSAGE_BYTES,
  type MachineChannels,
  MachineLinks,
} from '../../../src/cluster/machines/machine-links.js';
import { MalformedMessage } from '../../../src/errors.js';
import { TestClock } from '../../engine/support/clock.js';
import { Random } from '../../rooms/support/random.js';
import { Reported } from '../../support/reports.js';

const ONE = '1.AAAAAAAA';
const OTHER = '2.BBBBBBBB';

/** What Redis does, and what may happen to it: messages are lost, or to nobody. */
let listeners: Map<string, (bytes: Buffer) => void>;
let frames: { to: string; frame: LinkMessage }[];
let losesNext: boolean;
let clock: TestClock;
let one: Worker;
let other: Worker;

class Worker {
  isUp = true;
  lose = () => {};
  /** What this worker hears: messages, and `gone` for each worker that is gone. */
  readonly heard: string[] = [];
  inUse: string[] = [];
  readonly links: MachineLinks;

  constructor(readonly id: string) {
    const channels: MachineChannels = {
      isUp: true,
      publish: async (to, bytes) => {
        if (!this.isUp) throw new Error('Redis is down');
        frames.push({ to, frame: decodeLinkMessage(bytes) });
        const isLost = losesNext;
        losesNext = false;
        const listener = listeners.get(to);
        if (listener && !isLost) queueMicrotask(() => listener(bytes));
        return listener ? 1 : 0;
      },
      listen: (onMessage, onLoss) => {
        listeners.set(id, onMessage);
        this.lose = onLoss;
      },
    };
    this.links = new MachineLinks(id, id.slice(2), channels, clock);
    this.links.part(0).listen({
      onMessage: (from, payload) => {
        if (payload.toString() === 'malformed') throw new MalformedMessage('as told');
        this.heard.push(`${from}: ${payload.toString()}`);
      },
      onLeave: (gone) => this.heard.push(`${gone} gone`),
      inUse: () => this.inUse,
    });
  }

  send(text: string, to = this === one ? OTHER : ONE): Promise<void> {
    this.links.part(0).send(to, Buffer.from(text));
    return settle();
  }
}

beforeEach(() => {
  listeners = new Map();
  frames = [];
  losesNext = false;
  clock = new TestClock();
  one = new Worker(ONE);
  other = new Worker(OTHER);
});
afterEach(() => {
  for (const { links } of [one, other]) links.close();
  expect(clock.running).toBe(0);
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    clock.advance(BEAT_INTERVAL_MS);
    await settle();
    await settle();
  }
}

test('messages arrive in order, both ways', async () => {
  for (let number = 0; number < 3; number++) await Promise.all([one.send(`a${number}`), other.send(`b${number}`)]);
  expect(other.heard).toEqual([0, 1, 2].map((number) => `${ONE}: a${number}`));
  expect(one.heard).toEqual([0, 1, 2].map((number) => `${OTHER}: b${number}`));
});

test('a worker that nobody listens for is gone at once', async () => {
  await one.send('hello', '3.CCCCCCCC');
  expect(one.heard).toEqual(['3.CCCCCCCC gone']);
});

test('a worker to which Redis sends nothing is gone, and can be reached again later', async () => {
  await one.send('first');
  one.isUp = false;
  await one.send('lost');
  expect(one.heard).toEqual([`${OTHER} gone`]);
  one.isUp = true;
  await one.send('later');
  expect(other.heard).toEqual([`${ONE}: first`, `${ONE} gone`, `${ONE}: later`]);
});

test('after a lost message, both workers count as gone for each other, once', async () => {
  await Promise.all([one.send('first'), other.send('first')]);
  losesNext = true;
  await one.send('lost');
  await one.send('behind it');
  expect(other.heard).toEqual([`${ONE}: first`, `${ONE} gone`]);
  expect(one.heard).toEqual([`${OTHER}: first`, `${OTHER} gone`]);
  await Promise.all([one.send('again'), other.send('again')]);
  expect(other.heard.slice(2)).toEqual([`${ONE}: again`]);
  expect(one.heard.slice(2)).toEqual([`${OTHER}: again`]);
});

test('a beat finds the loss of a last message', async () => {
  one.inUse = [OTHER];
  await one.send('first');
  losesNext = true;
  await one.send('lost');
  await turns(2);
  expect(one.heard).toEqual([`${OTHER} gone`]);
  expect(other.heard).toEqual([`${ONE}: first`, `${ONE} gone`]);
});

test('a worker whose own channel was interrupted gives all others up, and they learn of it', async () => {
  await Promise.all([one.send('first'), other.send('first')]);
  one.lose();
  expect(one.heard).toEqual([`${OTHER}: first`, `${OTHER} gone`]);
  await other.send('unread');
  await settle();
  expect(one.heard).toHaveLength(2);
  expect(other.heard).toEqual([`${ONE}: first`, `${ONE} gone`]);
});

test('a worker that is waited for and hangs is gone after a while; one that lives stays', async () => {
  one.inUse = [OTHER];
  await one.send('first');
  await turns(30);
  expect(one.heard).toEqual([]);
  listeners.set(OTHER, () => {});
  await turns(3);
  expect(one.heard).toEqual([]);
  await turns(2);
  expect(one.heard).toEqual([`${OTHER} gone`]);
});

test('a worker that was busy itself blames no other one', async () => {
  one.inUse = [OTHER];
  await one.send('first');
  listeners.set(OTHER, () => {});
  for (let stall = 0; stall < 10; stall++) {
    clock.stall(2 * BEAT_INTERVAL_MS);
    await turns(1);
  }
  expect(one.heard).toEqual([]);
});

test('where nothing is waited for, nothing is sent', async () => {
  await Promise.all([one.send('first'), other.send('first')]);
  frames.length = 0;
  await turns(20);
  expect(frames).toEqual([]);
});

test('two workers that wait for each other exchange beats, and answer none', async () => {
  one.inUse = [OTHER];
  other.inUse = [ONE];
  await one.send('first');
  await turns(2);
  frames.length = 0;
  await turns(10);
  expect(new Set(frames.map(({ frame }) => frame.type))).toEqual(new Set([linkMessageTypes.beat]));
  for (const to of [ONE, OTHER]) {
    const { length } = frames.filter((sent) => sent.to === to);
    expect(length).toBeGreaterThanOrEqual(5);
    expect(length).toBeLessThanOrEqual(10);
  }
});

test('the parts of a worker do not hear each other, and all of them hear that a worker is gone', async () => {
  const second: string[] = [];
  const listeners = { onMessage: () => second.push('message'), onLeave: () => second.push('gone'), inUse: () => [] };
  other.links.part(1).listen(listeners);
  await one.send('first');
  expect([other.heard, second]).toEqual([[`${ONE}: first`], []]);
  one.links.part(1).send(OTHER, Buffer.from('second'));
  await settle();
  other.lose();
  expect([other.heard, second]).toEqual([
    [`${ONE}: first`, `${ONE} gone`],
    ['message', 'gone'],
  ]);
});

test('a message that is too long is not sent', async () => {
  one.links.part(0).send(OTHER, Buffer.alloc(MAX_LINK_MESSAGE_BYTES + 1));
  await settle();
  expect(one.heard).toEqual([`${OTHER} gone`]);
  expect(frames).toEqual([]);
});

test('malformed link messages are reported and dropped, and those behind them arrive', async () => {
  const reported = Reported.here();
  const listener = listeners.get(OTHER)!;
  const good = encodeLinkMessage({ type: 0, from: ONE, series: 1, number: 0, part: 0, payload: Buffer.from('x') });
  const withByte = (at: number, value: number) => Buffer.from(good).fill(value, at, at + 1);
  const bad = [
    Buffer.alloc(0),
    good.subarray(0, 10),
    withByte(0, 2),
    withByte(1, 4),
    withByte(11, 0),
    withByte(11, 255),
    withByte(12, 0x7b),
    good.subarray(0, 15),
  ];
  for (const bytes of bad) listener(bytes);
  expect(reported.reasons).toHaveLength(bad.length);
  await one.send('malformed');
  await one.send('behind it');
  expect(reported.reasons.at(-1)).toBe('as told');
  expect(other.heard).toEqual([`${ONE}: behind it`]);
});

test('whatever is lost: what arrives is in order, and there is no gap without a report', async () => {
  const random = new Random(Number(process.env.SEED ?? 7));
  const sent = new Map([one, other].map((worker) => [worker, 0]));
  for (let step = 0; step < 3000; step++) {
    losesNext = random.chance(0.05);
    const worker = random.pick([one, other]);
    if (random.chance(0.01)) worker.lose();
    sent.set(worker, sent.get(worker)! + 1);
    worker.links.part(0).send(worker === one ? OTHER : ONE, Buffer.from(String(sent.get(worker))));
    if (random.chance(0.5)) await settle();
  }
  losesNext = false;
  for (const worker of [one, other]) {
    let last = 0;
    // What is lost before anything has arrived is known to the sender alone.
    let mayMiss = true;
    let arrived = 0;
    for (const line of worker.heard) {
      const number = Number(/: (\d+)$/.exec(line)?.[1]);
      if (Number.isNaN(number)) {
        mayMiss = true;
        continue;
      }
      arrived++;
      if (!mayMiss) expect(number).toBe(last + 1);
      expect(number).toBeGreaterThan(last);
      last = number;
      mayMiss = false;
    }
    expect(arrived).toBeGreaterThan(500);
  }
});
