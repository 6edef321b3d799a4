import type { Random } from '../io/rooms/support/random.js';
import { HOUR_MS } from './scheduler.js';

/** Something that happens to a simulation, at a time in ms. Numbers count around: there is always some worker 7. */
export type Action = readonly [atMs: number, ...what: ActionOf];

type ActionOf =
  | readonly [kind: 'all', worker: number]
  | readonly [kind: 'room', worker: number, room: number]
  | readonly [kind: 'direct', worker: number, client: number]
  | readonly [kind: 'join' | 'leave', client: number, room: number]
  | readonly [kind: 'cut', client: number, noticedMs: number]
  | readonly [kind: 'pause worker' | 'hold link', worker: number, ms: number]
  | readonly [kind: 'pause hub', machine: number, ms: number]
  | readonly [kind: 'kill worker', worker: number]
  | readonly [kind: 'kill hub', machine: number]
  | readonly [kind: 'set' | 'swap' | 'delete' | 'own' | 'patch', worker: number, key: number]
  | readonly [kind: 'churn', worker: number]
  | readonly [kind: 'fail carrier', carrier: number, ms: number]
  | readonly [kind: 'step clock', machine: number, ms: number]
  | readonly [kind: 'post', worker: number, room: number]
  | readonly [kind: 'follow' | 'unfollow', client: number, room: number]
  | readonly [kind: 'fail store' | 'mute store' | 'slow store' | 'restore store', store: number, ms: number]
  | readonly [kind: 'empty store', store: number];

/** What a simulation is made of. */
export interface Setup {
  readonly seed: number;
  readonly clients: number;
  /** Of each machine. */
  readonly workers: number;
  readonly machines?: number;
  /** Whether there are durable rooms, with their store. */
  readonly durable?: boolean;
  readonly presence?: boolean;
  /** Whether clients follow the state room. */
  readonly maps?: boolean;
  /** Whether workers patch a value as soon as they have opened its room. */
  readonly patches?: boolean;
  /** By how much the clock of each machine is ahead of that of the one before, in ms. */
  readonly skewMs?: number;
}

export interface Script extends Setup {
  readonly actions: readonly Action[];
}

const ROOMS = 3;

const weighted: readonly [weight: number, make: (random: Random) => ActionOf][] = [
  [30, (random) => ['room', random.below(8), random.below(ROOMS)]],
  [8, (random) => ['all', random.below(8)]],
  [14, (random) => ['direct', random.below(8), random.below(8)]],
  [10, (random) => ['join', random.below(8), random.below(ROOMS)]],
  [5, (random) => ['leave', random.below(8), random.below(ROOMS)]],
  [12, (random) => ['cut', random.below(8), random.chance(0.5) ? 0 : random.below(1500)]],
  [3, (random) => ['pause worker', random.below(8), 5 + random.below(300)]],
  [2, (random) => ['hold link', random.below(8), 5 + random.below(300)]],
  [1, (random) => ['pause hub', 0, 5 + random.below(200)]],
  [1, (random) => ['kill worker', random.below(8)]],
  [10, (random) => ['set', random.below(8), random.below(3)]],
  [6, (random) => ['swap', random.below(8), random.below(2)]],
  [4, (random) => ['delete', random.below(8), random.below(3)]],
  [4, (random) => ['own', random.below(8), random.below(2)]],
  [4, (random) => ['patch', random.below(8), random.below(2)]],
  [2, (random) => ['churn', random.below(8)]],
];

type Weighted = typeof weighted;

/** What also happens where there are durable rooms. */
const ofDurable: Weighted = [
  [25, (random) => ['post', random.below(8), random.below(2)]],
  [12, (random) => ['follow', random.below(8), random.below(2)]],
  [2, (random) => ['unfollow', random.below(8), random.below(2)]],
  [1, (random) => ['fail store', 0, 1 + random.below(1500)]],
  [1, (random) => ['mute store', 0, 1 + random.below(2500)]],
  [1, (random) => ['slow store', 0, 1 + random.below(1000)]],
];

const listed = (all: Weighted) => all.flatMap(([weight, make]) => Array.from({ length: weight }, () => make));

/** Some of the kinds, some of them more often: a fault may need what is seldom, and be hidden by what is frequent. */
function someOf(all: Weighted, random: Random): Weighted {
  const some: Weighted = all.map(([weight, make]) => [weight * random.pick([0, 1, 1, 5]), make]);
  return some.some(([weight]) => weight > 0) ? some : all;
}

/** What happens seldom, to some scripts. */
const faults: readonly ((random: Random) => ActionOf)[] = [
  (random) => ['fail carrier', 0, 1 + random.below(1500)],
  // By any amount up to an hour: mostly by little.
  (random) => ['step clock', random.below(2), someMs(random)],
  (random) => ['kill hub', random.below(2)],
];

const faultsOfStore: typeof faults = [
  (random) => (random.chance(0.3) ? ['empty store', 0] : ['restore store', 0, random.below(300)]),
];

/** Mostly little. */
const someMs = (random: Random) => Math.round(HOUR_MS * (2 * random.next() - 1) ** 5);

/** A script by chance. */
export function scriptOf(seed: number, random: Random): Script {
  const machines = 1 + random.below(2);
  const setup = {
    ...{ seed, clients: 2 + random.below(4), workers: 2 + random.below(2), machines },
    ...{ durable: random.chance(0.4), presence: random.chance(0.3), maps: random.chance(0.3) },
    patches: random.chance(0.3),
    ...(machines > 1 && random.chance(0.2) && { skewMs: someMs(random) }),
  };
  const fault = random.pick(setup.durable && random.chance(0.6) ? faultsOfStore : faults);
  const all = [...weighted, ...(setup.durable ? ofDurable : [])];
  const usual = listed(random.chance(0.5) ? someOf(all, random) : all);
  const faultChance = random.pick([0, 0, 0.02, 0.1]);
  const count = 20 + random.below(150);
  const pauseMs = 1 + random.below(60);
  const actions: Action[] = [];
  let at = 200;
  for (let number = 0; number < count; number++) {
    // Often, several things happen at once.
    if (random.chance(0.6)) at += Math.round(pauseMs * random.next() * 100) / 100;
    const make = random.chance(faultChance) ? fault : random.pick(usual);
    actions.push([at, ...make(random)]);
  }
  return { ...setup, actions };
}

/** A script as a test can have it. */
export function printed({ actions, ...setup }: Script): string {
  const lines = actions.map((action) => `    ${JSON.stringify(action).replaceAll('"', "'").replaceAll(',', ', ')},`);
  const head = Object.entries(setup).map(([name, value]) => `${name}: ${value}`);
  return ['{', `  ${head.join(', ')},`, '  actions: [', ...lines, '  ],', '}'].join('\n');
}
