import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis as RedisClient } from 'ioredis';
import { Redis } from '../../harness/servers/redis.js';
import { soon } from '../../harness/until.js';
import { Members } from '../support/members.js';
import { progress, randomFrom, shuffled } from '../support/scenario.js';
import { Service } from '../support/service.js';
import { Wire } from '../support/wire.js';

/** How long it may take until all members are served again, and until the operator is told, in ms. */
const RECOVERY = 40_000;
/** How long a message may take to its members while nothing is wrong, in ms. */
const DELIVERY = 5000;
/** How many messages are posted between two faults, at least. */
const MESSAGES = 60;
const PROBLEM = 'Redis has lost messages that it had confirmed';
const OPERATOR = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'torture' };
const authorization = `Basic ${Buffer.from(Object.values(OPERATOR).join(':')).toString('base64')}`;

/** What happens to Redis. `older` is the same state of the beginning each time. */
const FAULTS = {
  empty: 'Redis returned empty',
  'empty twice': 'Redis returned empty twice',
  older: 'Redis returned older',
  shorter: 'Redis returned shorter',
  removed: 'all conversations removed',
  silent: 'all connections fell silent',
};
/** The others do not depend on a time. */
const WITH_DOWNTIME = ['empty', 'empty twice', 'older', 'shorter'];

/** @param {{ machines: number, downtimes: number[], short: boolean, seed: number, times: number, minutes: number }} options */
export async function lossesOn({ machines, downtimes, short, seed, times, minutes }) {
  const redis = await Redis.start({ settings: ['--appendonly', 'no'] });
  const wire = await Wire.to(redis.port);
  const services = [];
  try {
    for (let index = 0; index < machines; index++) {
      // In the short form, a second machine has one worker.
      const workers = short && index > 0 ? '1' : '2';
      services.push(await Service.start({ REDIS_URL: wire.url, WORKERS: workers, ...OPERATOR }));
    }
    const name = `${machines} ${machines === 1 ? 'machine' : 'machines'}`;
    const place = { name, redis, wire, services, pause: short ? 120 : 60 };
    const each = Object.keys(FAULTS).flatMap((fault) =>
      (WITH_DOWNTIME.includes(fault) ? downtimes : [undefined]).map((downtime) => ({ fault, downtime })),
    );
    const order = shuffled(Array.from({ length: times }, () => each).flat(), randomFrom(seed));
    return await injectLosses(place, order, Date.now() + minutes * 60_000);
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    wire.close();
    await redis.stop();
  }
}

async function injectLosses({ name, redis, wire, services, pause }, order, end) {
  const members = new Members((index) => services[index % services.length].url, {
    count: 6,
    rooms: ['north', 'south', 'east'],
    pause,
  });
  /** The epochs of messages that Redis has lost, or may have lost. */
  const gone = new Set();
  const done = new Map();
  const tally = { lost: 0, unserved: 0, untold: 0, retried: 0 };
  const isCurrent = ({ epoch }) => !gone.has(epoch);
  const snapshot = join(redis.directory, 'dump.rdb');
  const oldest = join(redis.directory, 'oldest.rdb');

  /** Ends Redis. Whatever was acknowledged until it returns is the store's to lose. */
  const takeDown = async (downtime) => {
    await redis.kill();
    const settled = performance.now() - DELIVERY;
    tally.lost += members.missing((verdict) => isCurrent(verdict) && verdict.at < settled);
    await sleep(downtime);
    for (const { epoch } of members.verdicts.values()) if (epoch) gone.add(epoch);
  };
  /** Waits for more messages. */
  const enough = async () => {
    const acks = members.acks + MESSAGES;
    while (members.acks < acks && Date.now() < end) await sleep(20);
  };
  const faults = {
    empty: async (downtime) => {
      await takeDown(downtime);
      rmSync(snapshot, { force: true });
      await redis.begin();
    },
    'empty twice': async (downtime) => {
      await faults.empty(downtime);
      await sleep(300);
      await takeDown(1000);
      rmSync(snapshot, { force: true });
      await redis.begin();
    },
    older: async (downtime) => {
      await takeDown(downtime);
      copyFileSync(oldest, snapshot);
      await redis.begin();
    },
    shorter: async (downtime) => {
      await save(redis);
      // So that something is lost.
      await enough();
      await takeDown(downtime);
      await redis.begin();
    },
    // Redis stays up, as with an eviction or a key that an operator deletes.
    removed: async () => {
      const operator = new RedisClient(redis.url);
      const keys = await operator.keys('*{history:*}:meta:*');
      for (const { epoch } of members.verdicts.values()) if (epoch) gone.add(epoch);
      await operator.del(...keys);
      operator.disconnect();
    },
    silent: async () => wire.silence(),
  };

  try {
    await members.join();
    if (!(await members.allServed(RECOVERY))) throw new Error('the members are not served before the first fault');
    await save(redis);
    copyFileSync(snapshot, oldest);
    await enough();
    for (const [index, { fault, downtime }] of order.entries()) {
      if (Date.now() > end) break;
      const key = FAULTS[fault] + (downtime ? ` after ${downtime / 1000} s` : '');
      progress(`${name}: ${index + 1} of ${order.length}: ${key}`);
      await faults[fault](downtime);
      if (!(await members.allServed(RECOVERY))) tally.unserved++;
      await enough();
      if (fault !== 'silent') {
        if (!(await areTold(services))) tally.untold++;
        tally.retried += await acknowledge(services[0]);
      }
      done.set(key, (done.get(key) ?? 0) + 1);
    }
    progress('');
    await members.finish(RECOVERY, isCurrent);
    const missing = members.missing(isCurrent);
    return [
      ...[...done].map(([fault, count]) => ({ name: `${name}: ${fault}`, value: 'injected', times: count })),
      { name: `${name}: faults after which a member was not served`, value: tally.unserved, most: 0 },
      { name: `${name}: faults that the operator was not told of`, value: tally.untold, most: 0 },
      { name: `${name}: acknowledgements of losses that Redis did not take at once`, value: tally.retried },
      { name: `${name}: acknowledged messages`, value: members.count('acked'), least: 1 },
      { name: `${name}: deliveries lost of messages that Redis kept`, value: tally.lost + missing, most: 0 },
      {
        name: `${name}: deliveries lost of messages that Redis lost`,
        value: members.missing((one) => !isCurrent(one)),
      },
      { name: `${name}: deliveries duplicated`, value: members.duplicated(), most: 0 },
      { name: `${name}: messages sent again as new ones`, value: members.pushedAgain, most: 0 },
      { name: `${name}: deliveries out of order`, value: members.outOfOrder(), most: 0 },
      { name: `${name}: deliveries of refused messages`, value: members.refusedButHeard(), most: 0 },
      { name: `${name}: recoveries that were told to be incomplete`, value: members.incomplete, least: 1 },
    ];
  } finally {
    members.leave();
  }
}

export async function save(redis) {
  const admin = new RedisClient(redis.url);
  await admin.save();
  admin.disconnect();
}

/** Whether each machine names the problem in time. */
async function areTold(services) {
  const isTold = async ({ url }) => {
    const response = await fetch(`${url}/readyz`, { headers: { Connection: 'close' } });
    return (await response.json()).problems.some(({ text }) => text === PROBLEM);
  };
  const all = await Promise.all(services.map((service) => soon(() => isTold(service), RECOVERY)));
  return all.every(Boolean);
}

/** Resolves with the number of attempts that failed: on a busy machine, a worker may take Redis for silent for a moment. */
async function acknowledge({ url }) {
  const headers = { Authorization: authorization, Connection: 'close' };
  let attempts = 0;
  const isDone = async () => {
    attempts++;
    return (await fetch(`${url}/api/acknowledge-loss`, { method: 'POST', headers })).ok;
  };
  if (!(await soon(isDone, RECOVERY, 500))) throw new Error('the loss could not be acknowledged');
  return attempts - 1;
}
