import { within } from '../../harness/process/child.js';
import { progress, randomFrom, shuffled } from './scenario.js';

/** How long a fault may take, with what is to come back after it, in ms. */
const MAX_FAULT_MS = 60_000;

/**
 * @typedef {object} Fault
 * @property {string} name
 * @property {(random: () => number) => Promise<unknown>} inject does it, and resolves when it is over
 */

/**
 * Injects faults into services whose members talk, each so many times, in an order that follows from the seed.
 * @param {object} options
 * @param {string} options.name
 * @param {import('./members.js').Members} options.members
 * @param {Fault[]} options.faults
 * @param {number} options.times how often each
 * @param {number} options.end when to stop, whatever is left
 * @param {number} options.seed
 * @param {number} options.recovery how long it may take until all members are served again after a fault, in ms
 * @param {() => unknown} [options.before] is done once all members are served
 * @param {(fault: Fault, random: () => number) => Promise<unknown>} options.after is done after each fault
 * @returns {Promise<{ done: Map<string, { count: number, longestGap: number }>, figures: object[] }>} `longestGap` in ms, without an
 *   answer to any member; `figures` of the faults and of what the members have heard
 */
export async function injectFaults({ name, members, faults, times, end, seed, recovery, before, after }) {
  const random = randomFrom(seed);
  const order = shuffled(
    faults.flatMap((fault) => Array.from({ length: times }, () => fault)),
    random,
  );
  const done = new Map();
  let unserved = 0;
  await members.join();
  if (!(await members.allServed(recovery))) throw new Error('the members are not served before the first fault');
  await before?.();
  for (const [index, fault] of order.entries()) {
    if (Date.now() > end) break;
    progress(`${name}: ${index + 1} of ${order.length}: ${fault.name}`);
    members.takeLongestGap();
    await within(MAX_FAULT_MS, fault.inject(random), `"${fault.name}" did not come to its end`);
    if (!(await members.allServed(recovery))) unserved++;
    const { count = 0, longestGap = 0 } = done.get(fault.name) ?? {};
    done.set(fault.name, { count: count + 1, longestGap: Math.max(longestGap, members.takeLongestGap()) });
    await after(fault, random);
  }
  await members.finish(recovery);
  const figures = [
    { name: 'faults after which a member was not served', value: unserved, most: 0 },
    { name: 'acknowledged messages', value: members.count('acked'), least: 1 },
    { name: 'deliveries duplicated', value: members.repeated, most: 0 },
    { name: 'deliveries out of order', value: members.outOfOrder(), most: 0 },
    { name: 'deliveries of refused messages', value: members.refusedButHeard(), most: 0 },
  ];
  return { done, figures };
}
