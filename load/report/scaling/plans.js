import { markdownTable, shown } from '../sections/table.js';
import { plan } from './model.js';

const MILLION = 1e6;
const USERS = [1, 10, 100].map((millions) => millions * MILLION);

/** The workloads by name, with the buses that make a difference to them. */
export const workloads = {
  rooms: { title: 'Chat rooms (workload 1)', buses: ['classic', 'sharded', 'frames', 'placed'] },
  direct: { title: 'One to one (workload 2)', buses: ['classic', 'sharded', 'frames'] },
  market: { title: 'Market data (workload 3)', buses: ['sharded'] },
  idle: { title: 'Idle connections (workload 4)', buses: ['sharded'] },
  slow: { title: 'Slow clients (workload 5)', buses: ['sharded'] },
};

/** Machines and shards for so many users of a workload. */
export const planned = (name, bus, users, { values, cost, demand }) => plan(users, demand[name], bus, values, cost);

/** The buses of a workload whose costs are known. */
const measuredBuses = (name, { cost }) =>
  workloads[name].buses.filter((bus) => bus !== 'frames' || Number.isFinite(cost.framed + cost.frame));

/** The fewest machines for so many users, whichever bus joins them. */
export const fewestMachines = (name, users, base) =>
  Math.min(...measuredBuses(name, base).map((bus) => planned(name, bus, users, base).machines));

export function planTable(name, base) {
  const { title } = workloads[name];
  const rows = USERS.flatMap((users) =>
    measuredBuses(name, base).map((bus) => {
      const { machines, limits, first, perWorker, frames, shards } = planned(name, bus, users, base);
      return [
        `${users / MILLION} million`,
        hasBus(name, base) ? bus : '–',
        ...Object.values(limits).map(count),
        `**${count(machines)}**`,
        first,
        hasBus(name, base) ? `${count(Math.round(perWorker))}/s` : '–',
        frames > 0 ? `${count(Math.round(frames))}/s` : '–',
        shardsOf(base.demand[name], bus, shards),
      ];
    }),
  );
  const head = [
    'users',
    'bus',
    'by CPU',
    'by memory',
    'by network',
    'machines',
    'limit',
    'bus per worker',
    'frames',
    'Redis shards',
  ];
  return `**${title}**\n\n${markdownTable(head, rows)}`;
}

const hasBus = (name, { demand }) => demand[name].messages + demand[name].fixed > 0;

/** A number of machines, users or messages. Two digits: more would promise what such a calculation cannot keep. */
export const count = (number) => (number === Infinity ? 'impossible' : shown(Number(number.toPrecision(2)), 0));

/** Neither the classic bus nor one room can be divided. */
const shardsOf = ({ fixed }, bus, shards) =>
  shards > 1 && (bus === 'classic' || fixed > 0) ? 'one is not enough' : count(shards);
