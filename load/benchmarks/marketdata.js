import { exchangeColumns, measureExchange, runExchange } from './exchange.js';

const MESSAGES = 10;
const ROUNDS = 500;

/**
 * Workload 3: each client sends a heartbeat a second and is answered with ten messages of 10,000 bytes, all checked. Its
 * 500 rounds run only on peers that keep up at first: the others would fall further behind.
 */
async function run({ peer, fleet, cell: { clients, rounds }, quick }) {
  const offered = clients * MESSAGES;
  const times = { warmUp: quick ? 3 : 5, window: quick ? 5 : 15 };
  const first = await runExchange({ peer, fleet, clients, role: 'heartbeat', options: {}, offered, ...times });
  const isFit = first.late === 0 && !first.saturated && !first.starved;
  if (!rounds) return first;
  const result = quick || !isFit ? first : await measureExchange({ peer, fleet, offered, warmUp: 0, window: rounds });
  return { ...result, rounds: result.received / offered, completed: isFit && result.late === 0 && result.errors === 0 };
}

export default {
  also: ['ws-cluster', 'gorilla', 'netty', 'tungstenite'],
  about: 'each client sends one heartbeat per second and gets 10 messages of 10,000 bytes',
  cells: (quick) =>
    [
      { label: '1,000 clients', clients: 1000 },
      { label: '3,000 clients', clients: 3000 },
      { label: `workload 3: 5,000 clients, ${quick ? 5 : ROUNDS} rounds`, clients: 5000, rounds: ROUNDS },
    ].slice(quick ? 2 : 0),
  maxRowMs: 900_000,
  columns: [...exchangeColumns, { key: 'late', title: 'late', digits: 0 }],
  run,
};
