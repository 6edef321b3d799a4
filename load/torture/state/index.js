import { setTimeout as sleep } from 'node:timers/promises';
import { progress, randomFrom } from '../support/scenario.js';
import { startBus } from './bus.js';
import { Cluster } from './cluster.js';
import { Follower } from './follower.js';
import { isOwned, Model } from './model.js';
import { Store } from './store.js';

/** Workers of the first machine, and of the second one if there is one. */
const WORKERS = [2, 2];
/** The short form, where the store needs new workers again and again: still two on one machine, and two machines. */
const WORKERS_SHORT = [2, 1];
const CLIENTS = 12;
/** Changes between two quiet points, and in one message to a worker. */
const PHASE = 1000;
const PHASE_SHORT = 500;
const BATCH = 25;
/** How often a message to a worker comes with something that happens to a client. The short form has few messages. */
const DISTURBANCE = 0.2;
const DISTURBANCE_SHORT = 0.5;
/** After this time without changes, everybody must show the same, in ms. */
const MAX_QUIET_MS = 30_000;

export async function run({ short, seed, times, minutes = short ? 1 : 60, own = {} }) {
  const end = Date.now() + minutes * 60_000;
  const bus = await startBus(own.bus);
  const random = randomFrom(seed);
  const store = own.store ? await Store.start(random) : undefined;
  // Every kind of event occurs in the first two phases; with a store, in the first three.
  const changes = times ?? (short ? (store ? 3 : 2) * PHASE_SHORT : 100_000);
  const cluster = new Cluster(bus, store?.url);
  const trial = new Trial(cluster, random, { store, short });
  try {
    await trial.start();
    while (trial.model.changes < changes && Date.now() < end) {
      progress(`${trial.model.changes} of ${changes}`);
      await trial.phase();
    }
    return trial.figures();
  } finally {
    progress('');
    trial.close();
    await cluster.remove();
    await store?.stop();
    await bus.stop();
  }
}

class Trial {
  #cluster;
  #random;
  #clients = [];
  #phases = 0;
  #quietPoints = 0;
  #kills = 0;
  #hubKills = 0;
  #pauses = 0;
  #wrong = [];
  #store;
  #isShort;
  #stops = 0;
  #fault;

  constructor(cluster, random, { store, short }) {
    this.#cluster = cluster;
    this.#random = random;
    this.#store = store;
    this.#isShort = short;
    this.model = new Model(random);
  }

  async start() {
    await this.#startAll();
    for (let at = 0; at < CLIENTS; at++) {
      const client = new Follower(isOwned, at % 4 === 3 ? 20 : undefined, at % 3 > 0);
      client.connect(this.#one(this.#cluster.workers));
      this.#clients.push(client);
    }
  }

  close() {
    for (const client of this.#clients) client.close();
  }

  /** Changes, with faults in between, and then a quiet point. */
  async phase() {
    const length = this.#isShort ? PHASE_SHORT : PHASE;
    const disturbance = this.#isShort ? DISTURBANCE_SHORT : DISTURBANCE;
    const end = this.model.changes + length;
    // Every second phase, workers are killed: one, or two at once, which the only time of the short form is.
    const turn = this.#phases++ % 4;
    const kills = turn % 2 === 0 ? 0 : this.#isShort ? 2 : 1 + Math.floor(this.#random() * 2);
    const isStop = this.#store !== undefined && turn === 2;
    const killAt = this.model.changes + this.#random() * length;
    let isDue = kills > 0 || isStop;
    // A hub is killed in the phases without other deaths, which it survives without a loss.
    const hubAt = kills > 0 || isStop ? Number.POSITIVE_INFINITY : this.model.changes + this.#random() * length;
    let isHubDue = true;
    if (this.#store && turn === 0) this.#fault = this.#store.fail();
    while (this.model.changes < end) {
      const { workers } = this.#cluster;
      const worker = this.#one(workers);
      const sent = worker.call('batch', this.model.changesOf(worker, workers, BATCH));
      if (this.#random() < disturbance) this.#disturbOne();
      if (isDue && this.model.changes >= killAt) {
        isDue = false;
        if (isStop) await this.#restartAll();
        else await this.#kill(kills);
      }
      if (isHubDue && this.model.changes >= hubAt) {
        isHubDue = false;
        await this.#replaceHub();
      }
      await sent;
      if (this.#random() < 0.1) await sleep(this.#random() * 50);
      this.#reconnectAll();
    }
    await this.#fault;
    await this.#quiet();
    // In the short form, a phase has one stop of all workers at most.
    if (!this.#store || turn % 2 === 1 || (this.#isShort && isStop)) return;
    // Nothing is on its way any more: all of it must be there again.
    await this.#restartAll(true);
    await this.#quiet();
  }

  figures() {
    const { model } = this;
    const sum = (name) => this.#clients.reduce((total, client) => total + client[name], 0);
    const back = this.#clients.flatMap(({ wentBack }) => wentBack);
    return [
      { name: 'machines', value: this.#cluster.machines },
      { name: 'changes', value: model.changes, least: 1 },
      { name: 'quiet points', value: this.#quietPoints, least: 1 },
      { name: 'workers killed', value: this.#kills },
      { name: 'hubs killed', value: this.#hubKills },
      ...(this.#store
        ? [
            { name: 'faults of the store', value: this.#store.faults, least: 1 },
            { name: 'stops of all workers', value: this.#stops, least: 1 },
          ]
        : []),
      { name: 'clients that paused', value: this.#pauses },
      { name: 'returns of clients', value: sum('returns') },
      { name: 'snapshots', value: sum('snapshots') },
      { name: 'wrong at a quiet point', value: this.#wrong.length, most: 0 },
      { name: 'the first of them', value: this.#wrong.slice(0, 3).join('; ') || 'none' },
      { name: 'keys that went back', value: back.length, most: 0 },
      { name: 'the first of these', value: back.slice(0, 3).join('; ') || 'none' },
    ];
  }

  async #startAll() {
    const counts = this.#isShort && this.#store ? WORKERS_SHORT : WORKERS;
    for (let machine = 0; machine < this.#cluster.machines; machine++) {
      for (let at = 0; at < counts[machine]; at++) await this.#cluster.start(machine);
    }
  }

  /** Ends all workers, and starts as many. */
  async #restartAll(isStored = false) {
    this.#stops++;
    const { workers } = this.#cluster;
    await Promise.all(workers.map((worker) => worker.kill()));
    for (let machine = 0; machine < this.#cluster.machines; machine++) await this.#cluster.killHub(machine);
    if (!isStored) for (const worker of workers) this.model.killed(worker);
    await this.#startAll();
    this.#reconnectAll();
  }

  #disturbOne() {
    const client = this.#one(this.#clients);
    if (this.#random() < 0.4) client.connect(this.#one(this.#cluster.workers));
    else {
      const isPaused = this.#random() < 0.5;
      if (isPaused) this.#pauses++;
      client.isPaused = isPaused;
    }
  }

  #reconnectAll() {
    for (const client of this.#clients) {
      if (client.isGone) client.connect(this.#one(this.#cluster.workers));
    }
  }

  async #replaceHub() {
    const machine = Math.floor(this.#random() * this.#cluster.machines);
    this.#hubKills++;
    await this.#cluster.killHub(machine);
    await sleep(this.#random() * 500);
    await this.#cluster.startHub(machine);
  }

  /** Kills workers at once, never the last one, and starts others in their place. */
  async #kill(count) {
    const first = this.#one(this.#cluster.workers);
    const victims = [first];
    if (count > 1)
      victims.push(...this.#cluster.workers.filter((one) => one.machine === first.machine && one !== first));
    if (victims.length >= this.#cluster.workers.length) victims.pop();
    this.#kills += victims.length;
    await Promise.all(victims.map((victim) => victim.kill()));
    for (const victim of victims) this.model.killed(victim);
    this.#reconnectAll();
    for (const { machine } of victims) await this.#cluster.start(machine);
  }

  async #quiet() {
    for (const client of this.#clients) client.isPaused = false;
    const limit = Date.now() + MAX_QUIET_MS;
    let state;
    let wrong;
    do {
      await sleep(50);
      this.#reconnectAll();
      const states = await Promise.all(this.#cluster.workers.map((worker) => worker.call('entries')));
      const [first, ...others] = states.map((entries) => new Map(entries));
      state = first;
      const differing = others.filter((other) => sorted(other) !== sorted(first));
      wrong = [
        ...this.model.wrong(first).map((key) => `${key} on the workers`),
        ...differing.map(() => 'workers differ'),
        ...(await this.#wrongInStore(first)),
        ...this.#clients.flatMap((client, at) => client.wrong(first).map((key) => `${key} at client ${at}`)),
      ];
    } while (wrong.length > 0 && Date.now() < limit);
    this.#quietPoints++;
    this.#wrong.push(...wrong.map((one) => `${one} after ${this.model.changes} changes`));
    this.model.settle(state);
  }

  async #wrongInStore(state) {
    const stored = await this.#store?.state();
    return stored && sorted(stored) !== sorted(state) ? ['the store differs'] : [];
  }

  #one(list) {
    return list[Math.floor(this.#random() * list.length)];
  }
}

const sorted = (state) => JSON.stringify([...state].sort(([one], [other]) => (one < other ? -1 : 1)));
