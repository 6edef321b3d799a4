import { setTimeout as sleep } from 'node:timers/promises';
import { soon } from '../../harness/until.js';
import { cleaningUp, pick, progress, randomFrom } from '../support/scenario.js';
import { startBus } from './bus.js';
import { Cluster } from './cluster.js';
import { Follower } from './follower.js';
import { isOwned, Model } from './model.js';
import { Store } from './store.js';

const CLIENTS = 12;
/** Changes in one message to a worker. */
const BATCH = 25;
/**
 * `workers` of the first machine, and of the second one if there is one; `phase`: changes between two quiet points;
 * `disturbance`: how often a message to a worker comes with something that happens to a client.
 */
const FULL = { workers: [2, 2], phase: 1000, disturbance: 0.2 };
/** The short form has few messages. */
const SHORT = { ...FULL, phase: 500, disturbance: 0.5 };
/** With the store, it needs new workers again and again: still two on one machine, and two machines. */
const SHORT_STORED = { ...SHORT, workers: [2, 1] };
/** After this time without changes, everybody must show the same, in ms. */
const MAX_QUIET_MS = 30_000;

export function run({ short, seed, times, minutes = short ? 1 : 60, own }) {
  const end = Date.now() + minutes * 60_000;
  const random = randomFrom(seed);
  return cleaningUp(async (use) => {
    const bus = use(await startBus(own.bus));
    const store = own.store ? use(await Store.start(random)) : undefined;
    const size = short ? (store ? SHORT_STORED : SHORT) : FULL;
    // Every kind of event occurs in the first two phases; with a store, in the first three.
    const changes = times ?? (short ? (store ? 3 : 2) * size.phase : 100_000);
    const cluster = use(new Cluster(bus, store?.url), 'remove');
    const trial = use(new Trial(cluster, random, { store, short, size }), 'close');
    await trial.start();
    while (trial.model.changes < changes && Date.now() < end) {
      progress(`${trial.model.changes} of ${changes}`);
      await trial.phase();
    }
    return trial.figures();
  });
}

class Trial {
  #cluster;
  #random;
  #store;
  #isShort;
  #size;
  #clients = [];
  #wrong = [];
  #tally = { phases: 0, quietPoints: 0, kills: 0, hubKills: 0, pauses: 0, stops: 0 };

  constructor(cluster, random, { store, short, size }) {
    this.#cluster = cluster;
    this.#random = random;
    this.#store = store;
    this.#isShort = short;
    this.#size = size;
    this.model = new Model(random);
  }

  async start() {
    await this.#startAll();
    for (let at = 0; at < CLIENTS; at++) {
      const maxRate = at % 4 === 3 ? 20 : undefined;
      this.#clients.push(new Follower(this.#one(this.#cluster.workers), isOwned, maxRate, at % 3 > 0));
    }
  }

  close() {
    for (const client of this.#clients) client.disconnect();
  }

  /** Changes, with a fault in between, and then a quiet point. */
  async phase() {
    const { phase: length, disturbance } = this.#size;
    const turn = this.#tally.phases++ % 4;
    const isStop = this.#store !== undefined && turn === 2;
    let fault = this.#faultOf(turn, isStop);
    const faultAt = this.model.changes + this.#random() * length;
    const fails = turn === 0 ? this.#store?.fail() : undefined;
    for (const end = this.model.changes + length; this.model.changes < end; ) {
      const { workers } = this.#cluster;
      const worker = this.#one(workers);
      const sent = worker.call('batch', this.model.changesOf(worker, workers, BATCH));
      if (this.#random() < disturbance) this.#disturbOne();
      if (fault && this.model.changes >= faultAt) {
        await fault();
        fault = undefined;
      }
      await sent;
      if (this.#random() < 0.1) await sleep(this.#random() * 50);
      this.#reconnectAll();
    }
    await fails;
    await this.#quiet();
    // In the short form, a phase has one stop of all workers at most.
    if (!this.#store || turn % 2 === 1 || (this.#isShort && isStop)) return;
    // Nothing is on its way any more: all of it must be there again.
    await this.#restartAll(true);
    await this.#quiet();
  }

  /**
   * Every second phase, workers are killed: one, or two at once, which the only time of the short form is. In the phases
   * without other deaths a hub is killed, which they survive without a loss.
   */
  #faultOf(turn, isStop) {
    if (isStop) return () => this.#restartAll();
    if (turn % 2 === 0) return () => this.#replaceHub();
    return () => this.#kill(this.#isShort ? 2 : 1 + Math.floor(this.#random() * 2));
  }

  figures() {
    const { kills, hubKills, pauses, stops, quietPoints } = this.#tally;
    const sum = (name) => this.#clients.reduce((total, client) => total + client[name], 0);
    const back = this.#clients.flatMap(({ wentBack }) => wentBack);
    const ofStore = this.#store && [
      { name: 'faults of the store', value: this.#store.faults, least: 1 },
      { name: 'stops of all workers', value: stops, least: 1 },
    ];
    return [
      { name: 'machines', value: this.#cluster.machines },
      { name: 'changes', value: this.model.changes, least: 1 },
      { name: 'quiet points', value: quietPoints, least: 1 },
      { name: 'workers killed', value: kills },
      { name: 'hubs killed', value: hubKills },
      ...(ofStore ?? []),
      { name: 'clients that paused', value: pauses },
      { name: 'returns of clients', value: sum('returns') },
      { name: 'snapshots', value: sum('snapshots') },
      { name: 'wrong at a quiet point', value: this.#wrong.length, most: 0 },
      { name: 'the first of them', value: this.#wrong.slice(0, 3).join('; ') || 'none' },
      { name: 'keys that went back', value: back.length, most: 0 },
      { name: 'the first of these', value: back.slice(0, 3).join('; ') || 'none' },
    ];
  }

  async #startAll() {
    for (let machine = 0; machine < this.#cluster.machines; machine++) {
      for (let at = 0; at < this.#size.workers[machine]; at++) await this.#cluster.start(machine);
    }
  }

  /** Ends all workers, and starts as many. */
  async #restartAll(isStored = false) {
    this.#tally.stops++;
    const { workers } = this.#cluster;
    await Promise.all(workers.map((worker) => worker.stop()));
    for (let machine = 0; machine < this.#cluster.machines; machine++) await this.#cluster.killHub(machine);
    if (!isStored) for (const worker of workers) this.model.killed(worker);
    await this.#startAll();
    this.#reconnectAll();
  }

  #disturbOne() {
    const client = this.#one(this.#clients);
    if (this.#random() < 0.4) client.moveTo(this.#one(this.#cluster.workers));
    else {
      const isPaused = this.#random() < 0.5;
      if (isPaused) this.#tally.pauses++;
      client.isPaused = isPaused;
    }
  }

  #reconnectAll() {
    for (const client of this.#clients) {
      if (client.isGone) client.moveTo(this.#one(this.#cluster.workers));
    }
  }

  async #replaceHub() {
    const machine = Math.floor(this.#random() * this.#cluster.machines);
    this.#tally.hubKills++;
    await this.#cluster.killHub(machine);
    await sleep(this.#random() * 500);
    await this.#cluster.startHub(machine);
  }

  /** Kills workers of a machine at once, never the last one, and starts others in their place. */
  async #kill(count) {
    const { workers } = this.#cluster;
    const first = this.#one(workers);
    const others = workers.filter((one) => one.machine === first.machine && one !== first);
    const victims = count > 1 ? [first, ...others] : [first];
    if (victims.length >= workers.length) victims.pop();
    this.#tally.kills += victims.length;
    await Promise.all(victims.map((victim) => victim.stop()));
    for (const victim of victims) this.model.killed(victim);
    this.#reconnectAll();
    for (const { machine } of victims) await this.#cluster.start(machine);
  }

  async #quiet() {
    for (const client of this.#clients) client.isPaused = false;
    let state;
    let wrong;
    const isSame = async () => {
      this.#reconnectAll();
      const states = await Promise.all(this.#cluster.workers.map((worker) => worker.call('entries')));
      const [first, ...others] = states.map((entries) => new Map(entries));
      const stored = await this.#store?.state();
      const differs = (other) => other && sorted(other) !== sorted(first);
      state = first;
      wrong = [
        ...this.model.wrong(first).map((key) => `${key} on the workers`),
        ...others.filter(differs).map(() => 'workers differ'),
        ...(differs(stored) ? ['the store differs'] : []),
        ...this.#clients.flatMap((client, at) => client.wrong(first).map((key) => `${key} at client ${at}`)),
      ];
      return wrong.length === 0;
    };
    await soon(isSame, MAX_QUIET_MS, 50);
    this.#tally.quietPoints++;
    this.#wrong.push(...wrong.map((one) => `${one} after ${this.model.changes} changes`));
    this.model.settle(state);
  }

  #one(list) {
    return pick(list, this.#random);
  }
}

const sorted = (state) => JSON.stringify([...state].sort(([one], [other]) => (one < other ? -1 : 1)));
