import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Namespace } from 'socket.io';
import { Adapter } from 'socket.io-adapter';
import { type OpenService, serviceOf } from '../../../src/io/rooms/index.js';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

const EVENT = 'service';
type Listener = Parameters<OpenService>[0];

/** Servers whose adapter tells nothing of the others, such as that of BUS=redis, and may lose messages. */
class PubSub {
  private readonly namespaces: { hear(packet: unknown[]): void }[] = [];
  isCut = false;

  /** What a service on one more server hears. */
  add(): { heard: unknown[][]; service: ReturnType<OpenService>; malformed: string[] } {
    const listeners = new Map<string, (...values: unknown[]) => void>();
    const hear = ([event, ...values]: unknown[]) => listeners.get(event as string)?.(...structuredClone(values));
    const own = { hear };
    this.namespaces.push(own);
    const adapter = Object.assign(Object.create(Adapter.prototype), {
      serverSideEmit: (packet: unknown[]) => {
        for (const other of this.namespaces) if (!this.isCut && other !== own) other.hear(packet);
      },
    });
    const nsp = {
      adapter,
      on: (event: string, listener: () => void) => listeners.set(event, listener),
      off: (event: string) => listeners.delete(event),
    } as unknown as Namespace;
    const heard: unknown[][] = [];
    const malformed: string[] = [];
    const listener: Listener = {
      onMessage: (message) => heard.push(['message', message]),
      onHere: (_server, isNew) => heard.push(['here', isNew]),
      onGone: () => heard.push(['gone']),
    };
    const service = serviceOf(nsp, EVENT, (reason) => malformed.push(reason))(listener);
    return { heard, service, malformed };
  }

  send(notice: unknown): void {
    for (const { hear } of this.namespaces) hear([EVENT, notice]);
  }
}

const sent = ({ heard }: { heard: unknown[][] }) => heard.splice(0);

describe('a service of servers that beat', () => {
  test('tells those that are there of a new one, and hears them', () => {
    const bus = new PubSub();
    const one = bus.add();
    const two = bus.add();
    expect(sent(one)).toContainEqual(['here', true]);
    one.service.send('a');
    two.service.send('b');
    expect([sent(one), sent(two)]).toEqual([[['message', 'b']], expect.arrayContaining([['message', 'a']])]);
  });

  test('reports a server as gone and here again when a message of it is lost, and nothing otherwise', () => {
    const bus = new PubSub();
    const [one, two] = [bus.add(), bus.add()];
    jest.advanceTimersByTime(60_000);
    sent(one);
    sent(two);
    jest.advanceTimersByTime(60_000);
    expect([sent(one), sent(two)]).toEqual([[], []]);
    bus.isCut = true;
    one.service.send('lost');
    bus.isCut = false;
    jest.advanceTimersByTime(2000);
    // ONE is asked for what TWO must know.
    expect([sent(one), sent(two)]).toEqual([[['here', false]], [['gone']]]);
  });

  test('reports a server that is silent for 6 to 8 s, and its return as a gap', () => {
    const bus = new PubSub();
    const [one, two] = [bus.add(), bus.add()];
    jest.advanceTimersByTime(4000);
    sent(one);
    sent(two);
    bus.isCut = true;
    jest.advanceTimersByTime(5900);
    expect([sent(one), sent(two)]).toEqual([[], []]);
    jest.advanceTimersByTime(2100);
    expect([sent(one), sent(two)]).toEqual([[['gone']], [['gone']]]);
    bus.isCut = false;
    jest.advanceTimersByTime(2000);
    for (const server of [one, two]) expect(sent(server)).toEqual(expect.arrayContaining([['gone'], ['here', false]]));
  });

  test('drops what is malformed', () => {
    const bus = new PubSub();
    const one = bus.add();
    for (const notice of [undefined, null, 5, {}, { from: 5, number: 1 }, { from: 'other' }]) bus.send(notice);
    expect(one.malformed).toHaveLength(6);
    expect(one.heard).toEqual([]);
  });

  test('ends its beats with its last service', () => {
    const bus = new PubSub();
    const [one, two] = [bus.add(), bus.add()];
    one.service.close();
    sent(two);
    jest.advanceTimersByTime(10_000);
    expect(sent(two)).toEqual([['gone']]);
    two.service.close();
    expect(jest.getTimerCount()).toBe(0);
  });
});
