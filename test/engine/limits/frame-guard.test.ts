import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FrameReceiver } from '../../../src/engine/http/exchange.js';
import { FrameGuard, MAX_QUEUED_BYTES, MAX_QUEUED_BYTES_IN_ALL } from '../../../src/engine/limits/frame-guard.js';
import { TestClock } from '../support/clock.js';

let clock: TestClock;
let guard: FrameGuard;
/** What all receivers were told, in order. */
let log: string[];

beforeEach(() => {
  clock = new TestClock();
  guard = new FrameGuard(clock);
  log = [];
});

/** The application's side of a WebSocket, for which each frame takes some milliseconds. */
function receiver(name: string, costMs: number, onMessage?: (text: string) => void): FrameReceiver {
  const say = (what: string) => log.push(`${name} ${what}`);
  return {
    onOpen: () => {},
    onMessage: (message) => {
      clock.stall(costMs);
      const text = Buffer.from(message as ArrayBuffer).toString('latin1', 0, 10);
      say(text);
      onMessage?.(text);
    },
    onDrain: () => {},
    onOverflow: () => {},
    onFlood: () => say('flood'),
    onDetached: () => say('detached'),
    onClose: (code, reason) => say(`closed ${code} ${reason}`),
  };
}

function send(to: FrameReceiver, ...texts: (number | string)[]): void {
  for (const text of texts) guard.message(to, Buffer.from(String(text)), false);
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** The event loop turns once. */
const turn = () => clock.advance(0);

describe('the frames of one WebSocket', () => {
  test('are handled for a few milliseconds per turn, and all of them in order', () => {
    const mallory = receiver('m', 5);
    send(mallory, ...upTo(20));
    expect(log).toEqual(upTo(5).map((n) => `m ${n}`));
    expect(guard.waitingBytes).toBeGreaterThan(0);
    turn();
    // A frame that arrives meanwhile goes behind the waiting ones.
    send(mallory, 21);
    expect(log).toEqual(upTo(6).map((n) => `m ${n}`));
    for (let turns = 0; turns < 15; turns++) turn();
    expect(log).toEqual(upTo(21).map((n) => `m ${n}`));
    expect(guard.waitingBytes).toBe(0);
    // Nothing waits any more, so the next frame is handled at once.
    send(mallory, 22);
    expect(log.at(-1)).toBe('m 22');
  });

  test('are copied while they wait, because their memory is used again', () => {
    const mallory = receiver('m', 30);
    send(mallory, 'first');
    const bytes = Buffer.from('second');
    guard.message(mallory, bytes, false);
    bytes.fill('x');
    turn();
    expect(log).toEqual(['m first', 'm second']);
  });

  test('leave the others their turn', () => {
    const [mallory, other] = [receiver('m', 5), receiver('o', 1)];
    send(mallory, ...upTo(50));
    log = [];
    send(other, 'hello');
    expect(log).toEqual(['o hello']);
    turn();
    send(other, 'again');
    expect(log).toEqual(['o hello', 'm 6', 'o again']);
  });

  test('take turns with the waiting frames of others', () => {
    const receivers = ['a', 'b', 'c'].map((name) => receiver(name, 4));
    for (const one of receivers) send(one, ...upTo(30));
    log = [];
    turn();
    expect(log.map((line) => line[0])).toEqual(['a', 'b', 'c', ...log.slice(3).map((line) => line[0])]);
    // The one that a turn had no time for comes first in the next.
    for (let turns = 0; turns < 3; turns++) turn();
    const counts = ['a', 'b', 'c'].map((name) => log.filter((line) => line.startsWith(name)).length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  test('are one per turn each, once all together have taken long', () => {
    const receivers = upTo(5).map((n) => receiver(`r${n}`, 12));
    for (const one of receivers) send(one, 'x', 'y');
    // 48 ms after the second one. The third one reaches 60, and from then on it is one frame each.
    expect(log).toEqual(['r1 x', 'r1 y', 'r2 x', 'r2 y', 'r3 x', 'r4 x', 'r5 x']);
  });

  test('wait if they are large or compressed, once all together have taken long', () => {
    const inflater = {
      inflated: (data: Buffer) => {
        clock.stall(12);
        log.push(`inflated ${data}`);
        return data;
      },
    };
    const busy = upTo(6).map((n) => receiver(`r${n}`, 0));
    for (const [n, one] of busy.entries()) guard.message(one, Buffer.from(`x${n}`), false, false, inflater);
    expect(log.at(-1)).toBe('r5 x4');
    log = [];
    guard.message(receiver('large', 0), Buffer.alloc(20_000, '.'), false);
    send(receiver('small', 0), 'y');
    expect(log).toEqual(['small y']);
    turn();
    expect(log.slice(1)).toEqual(['inflated x5', 'r6 x5', 'large ..........']);
  });

  test('are no longer handled after one that cannot be decompressed', () => {
    const mallory = receiver('m', 30);
    send(mallory, 1);
    guard.message(mallory, Buffer.from('faulty'), false, false, { inflated: () => undefined });
    send(mallory, 3);
    guard.closed(mallory, 1006, '');
    turn();
    expect(log).toEqual(['m 1', 'm detached', 'm closed 1006 ']);
    expect(guard.waitingBytes).toBe(0);
  });

  test('do not keep later frames from being handled if one fails', () => {
    const mallory = receiver('m', 30, (text) => {
      if (text === '2') throw new Error('a handler failed');
    });
    send(mallory, 1, 2, 3, 4);
    expect(turn).toThrow('a handler failed');
    turn();
    turn();
    expect(log).toEqual(['m 1', 'm 2', 'm 3', 'm 4']);
    expect(guard.waitingBytes).toBe(0);
  });
});

describe('a WebSocket that closes', () => {
  test('while frames wait gets these first, and is told of its end then', () => {
    const mallory = receiver('m', 30);
    send(mallory, 1, 2, 3);
    guard.closed(mallory, 1001, 'bye');
    turn();
    turn();
    expect(log).toEqual(['m 1', 'm detached', 'm 2', 'm 3', 'm closed 1001 bye']);
  });

  test('is told of its end once the listeners of its last frame have run', async () => {
    clock.afterTicks = (callback) => process.nextTick(queueMicrotask, callback);
    const mallory = receiver('m', 30, (text) => process.nextTick(() => log.push(`handled ${text}`)));
    send(mallory, 1, 2);
    guard.closed(mallory, 1005, '');
    turn();
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual(['m 1', 'm detached', 'm 2', 'handled 1', 'handled 2', 'm closed 1005 ']);
  });

  test('without waiting frames is told at once', () => {
    const one = receiver('a', 1);
    send(one, 1);
    guard.closed(one, 1000, '');
    expect(log).toEqual(['a 1', 'a closed 1000 ']);
  });
});

describe('a WebSocket that sends more than the worker can handle', () => {
  const mebibyte = Buffer.alloc(1024 * 1024, '.');

  /** Lets this number of mebibytes wait. */
  function fill(to: FrameReceiver, mebibytes: number): void {
    send(to, 'first');
    for (let n = 0; n < mebibytes; n++) guard.message(to, mebibyte, true);
  }

  test('is closed as soon as too many of its bytes wait, and the others stay', () => {
    const [mallory, other] = [receiver('m', 30), receiver('o', 30)];
    send(other, 1, 2);
    fill(mallory, MAX_QUEUED_BYTES / mebibyte.length - 1);
    expect(log).toEqual(['o 1', 'm first']);
    fill(mallory, 1);
    expect(log).toContain('m flood');
    expect(guard.floods).toBe(1);
    expect(guard.waitingBytes).toBeLessThan(mebibyte.length);
    log = [];
    turn();
    expect(log).toContain('o 2');
  });

  test('is the one that is closed when too many bytes of all wait', () => {
    const most = receiver('most', 60);
    fill(most, 15);
    const others = upTo(5).map((n) => receiver(`r${n}`, 60));
    for (const other of others) fill(other, 10);
    expect(15 + 50).toBeGreaterThan(MAX_QUEUED_BYTES_IN_ALL / mebibyte.length);
    expect(log.filter((line) => line.endsWith('flood'))).toEqual(['most flood']);
    expect(guard.waitingBytes).toBeLessThan(51 * mebibyte.length);
  });

  test('may have little waiting in a turn in which several were closed', () => {
    const floods = () => log.filter((line) => line.endsWith('flood'));
    for (const name of ['a', 'b']) fill(receiver(name, 60), MAX_QUEUED_BYTES / mebibyte.length);
    expect(floods()).toEqual(['a flood', 'b flood']);
    fill(receiver('c', 60), 1);
    expect(floods()).toEqual(['a flood', 'b flood', 'c flood']);
    send(receiver('small', 0), 'x', 'y');
    turn();
    expect(log).toContain('small y');
    fill(receiver('later', 60), 1);
    expect(floods()).toHaveLength(3);
  });

  test('is told of its close instead, if it has closed already', () => {
    const most = receiver('most', 60);
    fill(most, 15);
    guard.closed(most, 1006, 'gone');
    for (const n of upTo(5)) fill(receiver(`r${n}`, 60), 10);
    expect(log.filter((line) => line.startsWith('most'))).toEqual([
      'most first',
      'most detached',
      'most closed 1006 gone',
    ]);
  });

  test('is closed for control frames too, if the event loop does not turn', () => {
    const mallory = receiver('m', 0);
    for (let n = 0; n < 300; n++) guard.control(mallory);
    clock.stall(201);
    expect(log).toEqual([]);
    guard.control(mallory);
    expect(log).toEqual(['m flood']);
    expect(guard.floods).toBe(1);
  });

  test('may send any number of control frames over time', () => {
    const one = receiver('a', 0);
    for (let n = 0; n < 100; n++) {
      for (let m = 0; m < 300; m++) guard.control(one);
      clock.stall(100);
      turn();
    }
    expect(log).toEqual([]);
  });
});

describe('steps of work', () => {
  test('that are short are done before the call returns', () => {
    let done = false;
    guard.slice([1, 2, 3].values(), () => {
      done = true;
    });
    expect(done).toBe(true);
  });

  test('that are long are spread over turns, in order', () => {
    const steps: number[] = [];
    function* work() {
      for (const n of upTo(12)) {
        clock.stall(10);
        steps.push(n);
        yield;
      }
    }
    const done: number[] = [];
    guard.slice(work(), () => done.push(steps.length));
    expect(steps).toEqual([1, 2]);
    for (let turns = 0; turns < 10 && done.length === 0; turns++) turn();
    expect(steps).toEqual(upTo(12));
    expect(done).toEqual([12]);
  });
});
