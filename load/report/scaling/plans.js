import { markdownTable, shown } from '../table.js';
import { plan } from './model.js';

const MILLION = 1e6;
const USERS = [1, 10, 100].map((millions) => millions * MILLION);

/** The workloads by name, with the buses that make a difference to them. */
export const workloads = {
  rooms: { title: 'Chat rooms (workload 1)', buses: ['classic', 'sharded'] },
  direct: { title: 'One to one (workload 2)', buses: ['classic', 'sharded'] },
  market: { title: 'Market data (workload 3)', buses: ['sharded'] },
  idle: { title: 'Idle connections (workload 4)', buses: ['sharded'] },
  slow: { title: 'Slow clients (workload 5)', buses: ['sharded'] },
};

/** Machines and shards for so many users of a workload. */
export const planned = (name, bus, users, { values, cost, demand }) => plan(users, demand[name], bus, values, cost);

export function planTable(name, base) {
  const { title, buses } = workloads[name];
  const rows = USERS.flatMap((users) =>
    buses.map((bus) => {
      const { machines, limits, first, perWorker, shards } = planned(name, bus, users, base);
      return [
        `${users / MILLION} million`,
        hasBus(name, base) ? bus : '–',
        ...Object.values(limits).map(count),
        `**${count(machines)}**`,
        first,
        hasBus(name, base) ? `${count(Math.round(perWorker))}/s` : '–',
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
