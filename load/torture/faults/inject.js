import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../harness/process/child.js';
import { descriptorsOf, rssOf } from '../../harness/process/processes.js';
import { Members } from '../support/members.js';
import { progress, randomFrom, shuffled } from '../support/scenario.js';

/** How long a fault may take, with what is to come back after it, in ms. */
const FAULT = 60_000;
/** How long it may take until all members are served again after a fault, in ms. */
const RECOVERY = 30_000;

/**
 * @typedef {object} Fault
 * @property {string} name
 * @property {(random: () => number) => Promise<unknown>} inject does it, and resolves when it is over
 */

/**
 * Injects faults into services under load, in an order that follows from the seed, and tells what it did to the members.
 * @param {object} options
 * @param {string} options.name
 * @param {Fault[]} options.faults
 * @param {boolean} options.short with fewer members
 * @param {number} options.times how often each
 * @param {number} options.minutes when to stop, whatever is left
 * @param {number} options.seed
 * @param {import('../support/supervised-service.js').Service[]} options.services
 * @param {(index: number) => string} options.urlOf where a member connects
 * @returns {Promise<import('../support/scenario.js').Figure[]>}
 */
export async function injectFaults({ name, faults, short, times, minutes, seed, services, urlOf }) {
  const random = randomFrom(seed);
  const rooms = ['north', 'south', 'east', 'west'].slice(0, short ? 3 : 4);
  const members = new Members(urlOf, { count: short ? 6 : 12, rooms, pause: 100 });
  const held = () => holdings(services.flatMap((service) => service.processes));
  const order = shuffled(
    faults.flatMap((fault) => Array.from({ length: times }, () => fault)),
    random,
  );
  const end = Date.now() + minutes * 60_000;
  const done = new Map(faults.map((fault) => [fault, { count: 0, longestGap: 0, unserved: 0 }]));
  try {
    await members.join();
    if (!(await members.allServed(RECOVERY))) throw new Error('the members are not served before the first fault');
    const before = held();
    for (const [index, fault] of order.entries()) {
      if (Date.now() > end) break;
      progress(`${name}: ${index + 1} of ${order.length}: ${fault.name}`);
      const tally = done.get(fault);
      members.takeLongestGap();
      await within(FAULT, fault.inject(random), `"${fault.name}" did not come to its end`);
      if (!(await members.allServed(RECOVERY))) tally.unserved++;
      tally.count++;
      tally.longestGap = Math.max(tally.longestGap, members.takeLongestGap());
      await sleep(random() * 200);
    }
    progress('');
    await members.finish(RECOVERY);
    const figures = [
      ...[...done].map(([fault, { count, longestGap }]) => ({
        name: `${name}: ${fault.name}: longest time without any answer`,
        value: longestGap,
        unit: 'ms',
        times: count,
      })),
      { name: `${name}: faults after which a member was not served`, value: sumOf(done, 'unserved'), most: 0 },
      { name: `${name}: acknowledged messages`, value: members.count('acked'), least: 1 },
      { name: `${name}: refused messages`, value: members.count('refused') },
      { name: `${name}: messages without an answer`, value: members.count('unknown') },
      { name: `${name}: deliveries lost of acknowledged messages`, value: members.missing(), most: 0 },
      { name: `${name}: deliveries duplicated`, value: members.duplicated(), most: 0 },
      { name: `${name}: deliveries out of order`, value: members.outOfOrder(), most: 0 },
      { name: `${name}: deliveries of refused messages`, value: members.refusedButHeard(), most: 0 },
      { name: `${name}: recoveries that were told to be incomplete`, value: members.incomplete, most: 0 },
      { name: `${name}: reconnections`, value: members.reconnections },
    ];
    members.leave();
    return [...figures, ...(await afterwards(name, before, held, urlOf(0), rooms))];
  } finally {
    members.leave();
  }
}

/** What is left when all members have gone: presence, descriptors, memory. */
async function afterwards(name, before, held, url, rooms) {
  const { io } = await import('socket.io-client');
  const socket = io(url, { forceNew: true });
  const membersOf = async (room) => (await socket.timeout(5000).emitWithAck('who', room)).members;
  const end = Date.now() + RECOVERY;
  let members;
  let after;
  do {
    await sleep(200);
    members = 0;
    for (const room of rooms) members += await membersOf(room);
    after = held();
  } while (Date.now() < end && (members > 0 || after.descriptors > before.descriptors));
  socket.disconnect();
  return [
    { name: `${name}: members left in rooms`, value: members, most: 0 },
    { name: `${name}: descriptors (${before.descriptors} before)`, value: after.descriptors, most: before.descriptors },
    {
      name: `${name}: memory (${before.memory} before)`,
      value: after.memory,
      unit: 'MiB',
      most: Math.round(before.memory * 1.5),
    },
  ];
}

/** What processes hold: descriptors, and memory in MiB. @param {number[]} pids */
function holdings(pids) {
  const sum = (numberOf) => pids.reduce((total, pid) => total + numberOf(pid), 0);
  return { descriptors: sum(descriptorsOf), memory: Math.round(sum(rssOf) / 2 ** 20) };
}

function sumOf(done, key) {
  return [...done.values()].reduce((sum, tally) => sum + tally[key], 0);
}
