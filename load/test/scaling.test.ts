import { expect, test } from '@jest/globals';

interface Demand {
  cpu: number;
  memory: number;
  bytes: number;
  messages: number;
  fixed: number;
  size: number;
  readers: (workers: number) => number;
  elsewhere?: number;
  store: number;
}

interface Plan {
  machines: number;
  limits: Record<'CPU' | 'memory' | 'network', number>;
  first: string;
  perWorker: number;
  frames: number;
  shards: number;
}

const { plan } = (await import(new URL('../report/scaling/model.js', import.meta.url).href)) as {
  plan: (users: number, demand: Demand, bus: string, parameters: object, cost: object) => Plan;
};

const machine = { cores: 4, memory: 1e9, network: 1e6, headroom: 0.5 };
const parameters = { machine, wire: { overhead: 100, window: 0.025, readers: 2 } };
const cost = { bus: 0.001, redis: 0.0001, framed: 0.0001, frame: 0.0002, brokerFrame: 0.001 };
const demand: Demand = {
  cpu: 0.001,
  memory: 1000,
  bytes: 100,
  messages: 0,
  fixed: 0,
  size: 100,
  readers: (workers) => Math.min(workers, 8),
  store: 0,
};
const planned = (users: number, change: Partial<Demand> = {}, bus = 'sharded') =>
  plan(users, { ...demand, ...change }, bus, parameters, cost);

test('each resource alone limits the users of a machine, and the scarcest decides', () => {
  // A machine may use 2 cores, 500 MB and 500 kB/s: 2,000, 500,000 and 5,000 users.
  expect(planned(10_000)).toMatchObject({ machines: 5, limits: { CPU: 5, memory: 1, network: 2 }, first: 'CPU' });
  expect(planned(10_001).machines).toBe(6);
  expect(planned(10_000, { cpu: 0.0001 })).toMatchObject({ machines: 2, first: 'network' });
  expect(planned(10_000, { memory: 1e6 })).toMatchObject({ machines: 20, first: 'memory' });
});

test('on the classic bus every worker reads everything, so that no number of machines is enough in the end', () => {
  // 500 messages/s of 1 ms each are all the CPU that a worker may use.
  expect(planned(10_000, { messages: 0.049 }, 'classic').machines).toBeGreaterThan(100);
  expect(planned(10_000, { messages: 0.051 }, 'classic').machines).toBe(Infinity);
});

test('on the sharded bus a worker reads what it has members of', () => {
  const { machines, perWorker } = planned(10_000, { messages: 0.051 });
  // 20 workers' worth of clients, and 510 messages/s that 8 workers read each, at 1 ms: 4.08 cores of work.
  expect(machines).toBe(Math.ceil((10 + 4.08) / 2));
  expect(perWorker).toBeCloseTo((510 * 8) / (machines * 4));
});

test('on the bus of frames, the gateway of a machine reads one frame for each window, worker and other machine', () => {
  // 510 messages/s of 24 workers, each to all 6 machines: 21.25/s from each worker to each other machine.
  const few = planned(10_000, { messages: 0.051 }, 'frames');
  // The gateway and its deputy get each frame.
  expect(few).toMatchObject({ machines: 6, shards: Math.ceil((6 * 2 * 425 * 0.001) / 0.5) });
  expect(few.perWorker).toBeCloseTo((510 * 8) / 24);
  expect(few.frames).toBeCloseTo((4 + 1) * 5 * 21.25);
  // 200 messages/s from each worker to each other machine leave in 40 frames/s.
  const many = planned(400_000, { cpu: 1e-5, messages: 0.01, memory: 0, bytes: 0 }, 'frames');
  expect(many).toMatchObject({ machines: 5, frames: (4 + 1) * 4 * 40 });
});

test('where a proxy brings the members of a room to one worker, only those elsewhere need the bus', () => {
  // 20 workers' worth of clients, and 510 messages/s of which a tenth is read once, at 1 ms: 0.051 cores of work.
  const { machines, perWorker } = planned(10_000, { messages: 0.051, elsewhere: 0.1 }, 'placed');
  expect(machines).toBe(Math.ceil((10 + 0.051) / 2));
  expect(perWorker).toBeCloseTo(51 / (machines * 4));
});

test('a machine alone needs no bus', () => {
  expect(planned(1000, { messages: 1 })).toMatchObject({ machines: 1, perWorker: 0, shards: 0 });
});

test('shards follow from what Redis works and sends, and from what is kept', () => {
  // 4,080 messages/s of 0.1 ms each; a card that may send 500 kB/s of 200 bytes each.
  expect(planned(10_000, { messages: 0.051 }).shards).toBe(Math.ceil((4080 * 200) / 500_000));
  expect(planned(10_000, { store: 0.0001 }).shards).toBe(2);
});
