import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis as RedisClient } from 'ioredis';
import { DurableRooms } from '../../../public/gjallar-client.js';
import { RedisProcess } from '../../../test/support/redis.js';
import { Wire } from '../../../test/support/wire.js';
import { soon, until } from '../../harness/until.js';
import { injectFaults } from '../support/inject.js';
import { Members } from '../support/members.js';
import { cleaningUp, named, pick } from '../support/scenario.js';
import { Service } from '../support/service.js';

/** How long Redis is away, in ms. Within 12 s, the machines declare each other gone. */
const DOWNTIMES = [1000, 12_000];
/** How long it may take until all members are served again, and until the operator is told, in ms. */
const RECOVERY = 40_000;
/** How long a message may take to its members while nothing is wrong, in ms. */
const DELIVERY = 5000;
/** How many messages are posted between two faults, at least. */
const MESSAGES = 60;
/** How long silent connections may stop durable rooms, in ms: two answers that do not come, and a busy machine. */
const SILENCE = 10_000;
/** How long the backplane is down, in ms: longer than workers take to count each other as gone. */
const BACKPLANE_DOWN = 8000;
/** How long positions are announced, in ms. Then nothing but the return of the backplane says that messages are missing. */
const ANNOUNCED = 4000;
/** How long after that return messages may take, in ms. */
const RETURN = 15_000;
const ROOMS = ['north', 'south', 'east'];
const APP = fileURLToPath(new URL('app.mjs', import.meta.url));
const PROBLEM = 'Redis has lost messages that it had confirmed';
const OPERATOR = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'torture' };
const authorization = `Basic ${Buffer.from(Object.values(OPERATOR).join(':')).toString('base64')}`;
const settings = ['--appendonly', 'no'];

export async function run({ short, seed, times = short ? 1 : 100, minutes = short ? 2 : 480 }) {
  const options = { short, times, minutes };
  const parts = [
    ...[1, 2].map((machines) => (use) => ofChat(machines, { ...options, seed: seed + machines }, use)),
    (use) => ofDurableRooms({ ...options, seed: seed + 3 }, use),
  ];
  return (await Promise.all(parts.map(cleaningUp))).flat();
}

const membersOf = (machines, short, Helper = undefined) => {
  const urlOfMember = (index) => machines[index % machines.length].url;
  return new Members(urlOfMember, { count: 6, rooms: ROOMS, pause: short ? 120 : 60, Helper });
};

const urlOf = ({ port }) => `redis://127.0.0.1:${port}`;

/** The connections that there are carry nothing more, and stay open. */
function silence(wire) {
  wire.hold();
  wire.holdAnswers();
}

/** Members, and the Redis that keeps their messages: what it has lost, or may have lost, is known by its epochs. */
class Scene {
  tally = { lost: 0, untold: 0, slow: 0, undelivered: 0 };
  #gone = new Set();

  constructor(redis, members, end) {
    Object.assign(this, { redis, members, end });
    this.snapshot = join(redis.directory, 'dump.rdb');
    this.oldest = join(redis.directory, 'oldest.rdb');
  }

  isCurrent = ({ epoch }) => !this.#gone.has(epoch);

  /** Whatever was acknowledged until now is the store's to lose. */
  lose() {
    for (const { epoch } of this.members.verdicts.values()) if (epoch) this.#gone.add(epoch);
  }

  /** Waits for more messages, so that each fault has some to lose. */
  async enough() {
    const acks = this.members.acks + MESSAGES;
    while (this.members.acks < acks && Date.now() < this.end) await sleep(20);
  }

  /** The state that a Redis returns to that is older. */
  begin = async () => {
    await this.save();
    copyFileSync(this.snapshot, this.oldest);
    await this.enough();
  };

  async save() {
    await this.call((redis) => redis.save());
  }

  async call(act) {
    const client = new RedisClient(this.redis.url);
    await act(client);
    client.disconnect();
  }

  /** Ends Redis. It returns with what its directory has then. */
  async takeDown(downtime, restore) {
    await this.redis.stop();
    const settled = performance.now() - DELIVERY;
    this.tally.lost += this.members.missing((verdict) => this.isCurrent(verdict) && verdict.at < settled);
    await sleep(downtime);
    this.lose();
    restore?.();
    await this.redis.start();
  }

  empty = (downtime) => this.takeDown(downtime, () => rmSync(this.snapshot, { force: true }));
  older = (downtime) => this.takeDown(downtime, () => copyFileSync(this.oldest, this.snapshot));

  /** @returns figures of all parts, and those that `more` gives at the end */
  async inject(name, { faults, times, seed, after = () => {} }, more) {
    const { members, isCurrent, end, begin } = this;
    const { done, figures } = await injectFaults({
      ...{ name, members, faults, times, seed, recovery: RECOVERY, end, before: begin, counts: isCurrent },
      after: async (fault) => {
        await this.enough();
        await after(fault);
      },
    });
    return named(name, [
      ...[...done].map(([fault, { count }]) => ({ name: fault, value: 'injected', times: count })),
      ...figures,
      { name: 'recoveries that were told to be incomplete', value: members.incomplete, least: 1 },
      ...more(),
    ]);
  }
}

/** The chat on one machine or two. */
async function ofChat(machines, { short, seed, times, minutes }, use) {
  const redis = use(await RedisProcess.start(...settings), 'remove');
  const wire = use(await Wire.to(redis.port), 'close');
  const services = [];
  for (let index = 0; index < machines; index++) {
    // In the short form, a second machine has one worker.
    const environment = { REDIS_URL: urlOf(wire), WORKERS: short && index > 0 ? '1' : '2', ...OPERATOR };
    services.push(use(await Service.start({ environment })));
  }
  const members = use(membersOf(services, short), 'leave');
  const scene = new Scene(redis, members, Date.now() + minutes * 60_000);
  const { tally, isCurrent } = scene;
  const away = {
    'Redis returned empty': scene.empty,
    'Redis returned empty twice': async (downtime) => {
      await scene.empty(downtime);
      await sleep(300);
      await scene.empty(1000);
    },
    'Redis returned older': scene.older,
    'Redis returned shorter': async (downtime) => {
      await scene.save();
      await scene.enough();
      await scene.takeDown(downtime);
    },
  };
  const downtimes = short ? DOWNTIMES.slice(0, 1) : DOWNTIMES;
  const silent = { name: 'all connections fell silent', inject: async () => silence(wire) };
  const faults = [
    ...Object.entries(away).flatMap(([fault, inject]) =>
      downtimes.map((ms) => ({ name: `${fault} after ${ms / 1000} s`, inject: () => inject(ms) })),
    ),
    {
      name: 'all conversations removed',
      // Redis stays up, as with an eviction or a key that an operator deletes.
      inject: () =>
        scene.call(async (operator) => {
          const keys = await operator.keys('*{history:*}:meta:*');
          scene.lose();
          await operator.del(...keys);
        }),
    },
    silent,
  ];
  const name = `${machines} ${machines === 1 ? 'machine' : 'machines'}`;
  const after = async (fault) => {
    if (fault === silent) return;
    if (!(await areTold(services))) tally.untold++;
    await acknowledge(services[0]);
  };
  return scene.inject(name, { faults, times, seed, after }, () => [
    { name: 'faults that the operator was not told of', value: tally.untold, most: 0 },
    {
      name: 'deliveries lost of messages that Redis kept',
      value: tally.lost + members.missing(isCurrent),
      most: 0,
    },
    { name: 'messages sent again as new ones', value: members.pushedAgain, most: 0 },
  ]);
}

/** Durable rooms on two machines under `gjallar run`, with a Redis for the bus and one for the store. */
async function ofDurableRooms({ short, seed, times, minutes }, use) {
  const [bus, store] = await Promise.all([1, 2].map(() => RedisProcess.start(...settings)));
  for (const redis of [bus, store]) use(redis, 'remove');
  const wires = { bus: use(await Wire.to(bus.port), 'close'), store: use(await Wire.to(store.port), 'close') };
  const environment = { GJALLAR_REDIS_URL: urlOf(wires.bus), STORE_URL: urlOf(wires.store) };
  const machines = [];
  for (let count = 0; count < 2; count++)
    machines.push(use(await Service.host({ workers: short ? 1 : 2, app: APP, environment })));
  const members = use(membersOf(machines, short, DurableRooms), 'leave');
  const scene = new Scene(store, members, Date.now() + minutes * 60_000);
  const { tally, isCurrent } = scene;
  /** How many rooms of each machine were found to lack messages. */
  const losses = () =>
    Promise.all(
      machines.map((one) => one.metric(/^gjallar_history_new_epochs_total\{[^}]*result="lost"[^}]*\} (\d+)/gm)),
    );
  /** Does something that loses messages, and notes whether each machine has told it. */
  const losing = (act) => async (random) => {
    const before = await losses();
    await act(random);
    if (!(await soon(async () => (await losses()).every((now, at) => now > before[at]), RECOVERY))) tally.untold++;
  };
  const faults = {
    'silent connections to the store': async () => {
      silence(wires.store);
      if (!(await members.allServed(SILENCE))) tally.slow++;
    },
    'silent connections to the bus': async () => silence(wires.bus),
    'bus down alone': async () => {
      wires.bus.cut();
      await sleep(BACKPLANE_DOWN);
      members.isQuiet = true;
      await sleep(ANNOUNCED);
      wires.bus.mend();
      if (!(await soon(() => members.missing(isCurrent) === 0, RETURN))) tally.undelivered++;
      members.isQuiet = false;
    },
    'conversation removed': losing((random) =>
      scene.call(async (operator) => {
        const room = pick(ROOMS, random);
        const parts = pick([['meta'], ['stream'], ['meta', 'stream']], random);
        const keys = await operator.keys(`gjallar:{history:*}:*:room:/\n${room}`);
        scene.lose();
        await operator.del(...keys.filter((key) => parts.some((part) => key.includes(`:${part}:`))));
      }),
    ),
    'older store': losing(() => scene.older(0)),
  };
  const list = Object.entries(faults).map(([fault, inject]) => ({ name: fault, inject }));
  return scene.inject('durable rooms', { faults: list, times, seed }, () => [
    { name: `silences of more than ${SILENCE / 1000} s`, value: tally.slow, most: 0 },
    { name: 'losses that the operator was not told of', value: tally.untold, most: 0 },
    { name: 'returns of the bus after which messages stayed away', value: tally.undelivered, most: 0 },
    { name: 'deliveries lost of messages that the store kept', value: members.missing(isCurrent), most: 0 },
  ]);
}

/** Whether each machine names the problem in time. */
async function areTold(services) {
  const isTold = async (service) => (await service.readiness())?.problems.some(({ text }) => text === PROBLEM);
  const all = await Promise.all(services.map((service) => soon(() => isTold(service), RECOVERY)));
  return all.every(Boolean);
}

/** On a busy machine, a worker may take Redis for silent for a moment. */
async function acknowledge({ url }) {
  const headers = { Authorization: authorization, Connection: 'close' };
  const isDone = async () => (await fetch(`${url}/api/acknowledge-loss`, { method: 'POST', headers })).ok;
  await until(isDone, 'the loss could not be acknowledged', RECOVERY, 500);
}
