import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';
import type { StateRoom } from '../../../../src/features/state/index.js';
import { disconnectAll, pairOn } from '../../../io/rooms/support/clients.js';
import { startMember, type TestNode } from '../../../io/rooms/support/node.js';
import { until } from '../../../support/until.js';
import { roomOn } from './room-on.js';
import { View } from './view.js';

export interface Buses {
  openBackplane(): Promise<Backplane>;
  remove(): Promise<void>;
}

type Node = TestNode & { bus: Backplane };

interface Worker {
  node: Node;
  room: StateRoom;
}

/** State rooms of the workers that a bus joins, which are on machines of their own or on the same. */
export function stateOver(name: string, openBuses: () => Promise<Buses>, isOfMachines = true): void {
  describe(`over ${name}`, () => {
    let bus: Buses;
    const nodes: Node[] = [];
    let workers: Worker[] = [];

    beforeAll(async () => {
      bus = await openBuses();
      for (let count = 0; count < 2; count++) await startNode();
    });
    afterAll(async () => {
      for (const node of nodes.splice(0)) await node.close();
      await bus.remove();
    });
    beforeEach(async () => {
      workers = [];
      for (const node of nodes) await open(node);
    });
    afterEach(async () => {
      disconnectAll();
      await Promise.all(workers.map(({ room }) => room.close()));
    });

    async function startNode(): Promise<Node> {
      const node = await startMember(await bus.openBackplane());
      nodes.push(node);
      // Workers that know each other open further rooms at once.
      await roomOn(node, 'first').ready();
      return node;
    }

    async function open(node: Node): Promise<Worker> {
      const worker = { node, room: roomOn(node, 'quotes', { event: 'quote' }) };
      workers.push(worker);
      await worker.room.ready();
      return worker;
    }

    async function member({ node, room }: Worker, version?: string) {
      const pair = await pairOn(node);
      const view = new View(pair.client, 'quote');
      room.join(pair.socket, { version });
      await view.shows(() => true);
      return view;
    }

    test('all workers and their clients have the same, whoever sets it', async () => {
      const [one, two] = workers as [Worker, Worker];
      const views = [await member(one), await member(two)];
      one.room.set('a', 1);
      two.room.set('b', Buffer.from([1, 2]));
      for (const view of views) await view.shows(({ a, b }) => a === 1 && b !== undefined);
      two.room.delete('a');
      one.room.patch('c', { x: 1 });
      for (const view of views) await view.shows(({ a, c }) => a === undefined && c !== undefined);
      two.room.patch('c', { y: 2 });
      for (const view of views) await view.shows(({ c }) => (c as { y?: number }).y === 2);
      for (const view of views) expect(view.state).toEqual({ b: Buffer.from([1, 2]), c: { x: 1, y: 2 } });
      for (const { room } of workers) expect([...room.entries()].sort()).toEqual(Object.entries(views[0]!.state));
    });

    test('a worker that starts late gets everything before it answers', async () => {
      const [one, two] = workers as [Worker, Worker];
      for (let key = 0; key < 3000; key++) one.room.set(`k${key}`, 'x'.repeat(300));
      one.room.delete('k5');
      two.room.set('from two', 2);
      const three = await open(await startNode());
      const view = await member(three);
      expect(view.messages[0]![1].snapshot).toBe(true);
      expect(view.map.size).toBe(3000);
      expect(view.map.has('k5')).toBe(false);
      two.room.set('from two', 3);
      await view.shows((state) => state['from two'] === 3);
    });

    test('a client that returns to another worker gets only what has changed since', async () => {
      const [one, two] = workers as [Worker, Worker];
      for (let key = 0; key < 100; key++) one.room.set(`k${key}`, 0);
      const first = await member(one);
      await first.shows(() => first.map.size === 100);
      one.room.set('k0', 1);
      await first.shows(({ k0 }) => k0 === 1);
      const { version } = first;
      const view = first.map;
      first.disconnect();
      one.room.set('k1', 1);
      two.room.set('k2', 2);
      one.room.delete('k3');
      const second = await member(two, version);
      if (isOfMachines) {
        // The numbers of another machine are others.
        expect(second.messages[0]![1].snapshot).toBe(true);
        await second.shows(({ k0, k1, k2 }) => k0 === 1 && k1 === 1 && k2 === 2);
        await until(() => one.room.get('k2') === 2 && two.room.get('k3') === undefined);
        await second.shows(({ k3 }) => k3 === undefined);
        expect(second.state).toEqual(Object.fromEntries([...one.room.entries()].sort()));
        return;
      }
      expect(second.messages[0]![1].snapshot).toBeUndefined();
      await second.shows(({ k1, k2 }) => k1 === 1 && k2 === 2);
      await until(() => one.room.get('k2') === 2);
      view.delete('k3');
      for (const [key, value] of second.map) view.set(key, value);
      expect(Object.fromEntries(view)).toEqual(Object.fromEntries(one.room.entries()));
      expect(second.messages.flatMap(([changes]) => changes)).toContainEqual(['k3']);
      expect(second.map.size).toBeLessThan(20);
    });
  });
}
