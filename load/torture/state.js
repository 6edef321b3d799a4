import { setTimeout as sleep } from 'node:timers/promises';
import { hasRedis, startRedis } from './attack/redis.js';
import { Cluster } from './state/cluster.js';
import { Follower } from './state/follower.js';
import { isOwned, Model } from './state/model.js';
import { progress, randomFrom } from './support/scenario.js';

export const about =
  'state rooms under random changes, slow clients, returns and killed workers: who shows what is not so';

export const options = {
  'times n': 'number of changes (100,000; 3,000 with --short)',
  'minutes n': 'time limit (60; 1 with --short)',
};

const WORKERS = 2;
const CLIENTS = 12;
/** Changes between two quiet points, and in one message to a worker. */
const PHASE = 1000;
const BATCH = 25;
/** After this time without changes, everybody must show the same, in ms. */
const MAX_QUIET_MS = 30_000;

export async function run({ short, seed, times = short ? 3000 : 100_000, minutes = short ? 1 : 60 }) {
  const end = Date.now() + minutes * 60_000;
  const redis = hasRedis() ? await startRedis() : undefined;
  const cluster = new Cluster(redis?.url);
  const trial = new Trial(cluster, randomFrom(seed));
  try {
    await trial.start();
    while (trial.model.changes < times && Date.now() < end) {
      progress(`${trial.model.changes} of ${times}`);
      await trial.phase();
    }
    return trial.figures();
  } finally {
    progress('');
    trial.close();
    await cluster.remove();
    await redis?.stop();
  }
}

class Trial {
  #cluster;
  #random;
  #clients = [];
  #quietPoints = 0;
  #kills = 0;
  #pauses = 0;
  #wrong = [];

  constructor(cluster, random) {
    this.#cluster = cluster;
    this.#random = random;
    this.model = new Model(random);
  }

  async start() {
    for (let machine = 0; machine < this.#cluster.machines; machine++) {
      for (let at = 0; at < WORKERS; at++) await this.#cluster.start(machine);
    }
    for (let at = 0; at < CLIENTS; at++) {
      const client = new Follower(isOwned, at % 4 === 3 ? 20 : undefined);
      client.connect(this.#one(this.#cluster.workers));
      this.#clients.push(client);
    }
  }

  close() {
    for (const client of this.#clients) client.close();
  }

  /** Changes, with faults in between, and then a quiet point. */
  async phase() {
    const end = this.model.changes + PHASE;
    // Every second phase, workers are killed: one, or two at once.
    const kills = this.#quietPoints % 2 === 0 ? 0 : 1 + Math.floor(this.#random() * 2);
    const killAt = this.model.changes + this.#random() * PHASE;
    let isDue = kills > 0;
    while (this.model.changes < end) {
      const { workers } = this.#cluster;
      const worker = this.#one(workers);
      const sent = worker.call('batch', this.model.changesOf(worker, workers, BATCH));
      if (this.#random() < 0.2) this.#disturbOne();
      if (isDue && this.model.changes >= killAt) {
        isDue = false;
        await this.#kill(kills);
      }
      await sent;
      if (this.#random() < 0.1) await sleep(this.#random() * 50);
      this.#reconnectAll();
    }
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
      { name: 'clients that paused', value: this.#pauses },
      { name: 'returns of clients', value: sum('returns') },
      { name: 'snapshots', value: sum('snapshots') },
      { name: 'wrong at a quiet point', value: this.#wrong.length, most: 0 },
      { name: 'the first of them', value: this.#wrong.slice(0, 3).join('; ') || 'none' },
      { name: 'keys that went back', value: back.length, most: 0 },
      { name: 'the first of these', value: back.slice(0, 3).join('; ') || 'none' },
    ];
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
        ...this.#clients.flatMap((client, at) => client.wrong(first).map((key) => `${key} at client ${at}`)),
      ];
    } while (wrong.length > 0 && Date.now() < limit);
    this.#quietPoints++;
    this.#wrong.push(...wrong.map((one) => `${one} after ${this.model.changes} changes`));
    this.model.settle(state);
  }

  #one(list) {
    return list[Math.floor(this.#random() * list.length)];
  }
}

const sorted = (state) => JSON.stringify([...state].sort(([one], [other]) => (one < other ? -1 : 1)));
