import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis as RedisClient } from 'ioredis';
import { DurableRooms } from '../../../public/gjallar-client.js';
import { Redis } from '../../harness/servers/redis.js';
import { soon } from '../../harness/until.js';
import { Hosted } from '../support/hosted.js';
import { Members } from '../support/members.js';
import { progress, randomFrom, shuffled } from '../support/scenario.js';
import { Wire } from '../support/wire.js';
import { save } from './machines.js';

const APP = fileURLToPath(new URL('app.mjs', import.meta.url));
const ROOMS = ['north', 'south', 'east'];
/** How long it may take until all members are served again, and until the operator is told, in ms. */
const RECOVERY = 40_000;
/** How long silent connections may stop the service, in ms: two answers that do not come, and a busy machine. */
const SILENCE = 10_000;
/** How long the backplane is down, in ms: longer than workers take to count each other as gone. */
const BACKPLANE_DOWN = 8000;
/** How long positions are announced, in ms. Then nothing but the return of the backplane says that messages are missing. */
const ANNOUNCED = 4000;
/** How long after that return messages may take, in ms. */
const RETURN = 15_000;
/** How many messages are posted between two faults, at least. */
const MESSAGES = 60;

/**
 * Durable rooms on two machines under `gjallar run`, with a Redis for the bus and one for the store.
 * @param {{ short: boolean, seed: number, times: number, minutes: number }} options
 */
export async function lossesOfDurableRooms({ short, seed, times, minutes }) {
  const settings = ['--appendonly', 'no'];
  const [bus, store] = await Promise.all([Redis.start({ settings }), Redis.start({ settings })]);
  const wires = { bus: await Wire.to(bus.port), store: await Wire.to(store.port) };
  const machines = [];
  try {
    const environment = { REDIS_URL: wires.bus.url, STORE_URL: wires.store.url };
    for (const workers of short ? [1, 1] : [2, 2]) {
      machines.push(await Hosted.start({ workers, app: APP, environment }));
    }
    const random = randomFrom(seed);
    return await inject({ machines, store, wires, random, short, times, end: Date.now() + minutes * 60_000 });
  } finally {
    await Promise.all(machines.map((machine) => machine.stop()));
    for (const wire of Object.values(wires)) wire.close();
    await Promise.all([bus.stop(), store.stop()]);
  }
}

async function inject({ machines, store, wires, random, short, times, end }) {
  const members = new Members((index) => machines[index % machines.length].url, {
    ...{ count: 6, rooms: ROOMS, pause: short ? 120 : 60 },
    ...{ Helper: DurableRooms, textOf: ({ values }) => values?.[0]?.text },
  });
  /** The epochs of messages that the store has lost, or may have lost. */
  const gone = new Set();
  const isCurrent = ({ epoch }) => !gone.has(epoch);
  const loseAll = () => {
    for (const { epoch } of members.verdicts.values()) if (epoch) gone.add(epoch);
  };
  const tally = { unserved: 0, untold: 0, undelivered: 0, slow: 0 };
  const done = new Map();
  const snapshot = join(store.directory, 'dump.rdb');
  const oldest = join(store.directory, 'oldest.rdb');
  const operator = new RedisClient(store.url, { retryStrategy: () => 50 });
  operator.on('error', () => {});

  /** Does something that loses messages, and notes whether each machine has told it. */
  const lose = async (act) => {
    const before = await Promise.all(machines.map(lossesOf));
    await act();
    const isTold = async () => (await Promise.all(machines.map(lossesOf))).every((now, at) => now > before[at]);
    if (!(await soon(isTold, RECOVERY))) tally.untold++;
  };
  const faults = {
    'silent connections to the store': async () => {
      wires.store.silence();
      if (!(await members.allServed(SILENCE))) tally.slow++;
    },
    'silent connections to the bus': async () => wires.bus.silence(),
    'bus down alone': async () => {
      wires.bus.cut();
      await sleep(BACKPLANE_DOWN);
      members.isQuiet = true;
      await sleep(ANNOUNCED);
      wires.bus.mend();
      if (!(await soon(() => members.missing(isCurrent) === 0, RETURN))) tally.undelivered++;
      members.isQuiet = false;
    },
    'conversation removed': () =>
      lose(async () => {
        const room = ROOMS[Math.floor(random() * ROOMS.length)];
        const parts = [['meta'], ['stream'], ['meta', 'stream']][Math.floor(random() * 3)];
        const keys = await operator.keys(`gjallar:{history:*}:*:room:/\n${room}`);
        loseAll();
        await operator.del(...keys.filter((key) => parts.some((part) => key.includes(`:${part}:`))));
      }),
    'older store': () =>
      lose(async () => {
        await store.kill();
        loseAll();
        copyFileSync(oldest, snapshot);
        await store.begin();
      }),
  };
  const order = shuffled(
    Object.keys(faults).flatMap((fault) => Array.from({ length: times }, () => fault)),
    random,
  );
  try {
    await members.join();
    if (!(await members.allServed(RECOVERY))) throw new Error('the members are not served before the first fault');
    await save(store);
    copyFileSync(snapshot, oldest);
    await enough(members, end);
    for (const [index, fault] of order.entries()) {
      if (Date.now() > end) break;
      progress(`durable rooms: ${index + 1} of ${order.length}: ${fault}`);
      await faults[fault]();
      if (!(await members.allServed(RECOVERY))) tally.unserved++;
      await enough(members, end);
      done.set(fault, (done.get(fault) ?? 0) + 1);
    }
    progress('');
    await members.finish(RECOVERY, isCurrent);
    const name = 'durable rooms';
    return [
      ...[...done].map(([fault, count]) => ({ name: `${name}: ${fault}`, value: 'injected', times: count })),
      { name: `${name}: faults after which a member was not served`, value: tally.unserved, most: 0 },
      { name: `${name}: silences of more than ${SILENCE / 1000} s`, value: tally.slow, most: 0 },
      { name: `${name}: losses that the operator was not told of`, value: tally.untold, most: 0 },
      { name: `${name}: returns of the bus after which messages stayed away`, value: tally.undelivered, most: 0 },
      { name: `${name}: acknowledged messages`, value: members.count('acked'), least: 1 },
      { name: `${name}: deliveries lost of messages that the store kept`, value: members.missing(isCurrent), most: 0 },
      { name: `${name}: deliveries duplicated`, value: members.duplicated(), most: 0 },
      { name: `${name}: deliveries out of order`, value: members.outOfOrder(), most: 0 },
      { name: `${name}: deliveries of refused messages`, value: members.refusedButHeard(), most: 0 },
      { name: `${name}: recoveries that were told to be incomplete`, value: members.incomplete, least: 1 },
    ];
  } finally {
    members.leave();
    operator.disconnect();
  }
}

/** Waits for more messages, so that each fault has some to lose. */
async function enough(members, end) {
  const acks = members.acks + MESSAGES;
  while (members.acks < acks && Date.now() < end) await sleep(20);
}

/** How many rooms of a machine's workers were found to lack messages. */
async function lossesOf({ admin }) {
  const text = await (await fetch(`${admin}/metrics`)).text();
  const found = text.matchAll(/^gjallar_history_new_epochs_total\{[^}]*result="lost"[^}]*\} (\d+)/gm);
  return [...found].reduce((sum, [, value]) => sum + Number(value), 0);
}
