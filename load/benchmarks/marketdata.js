import { exchangeColumns, exchangeOf } from './echo.js';
import { measured } from './measured.js';

const MESSAGES = 10;
const ROUNDS = 500;

const answered = {
  warmUp: [5, 3],
  window: [15, 5],
  async begin({ fleet, cell: { clients } }) {
    const group = await fleet.group(clients);
    await group.open();
    await group.begin('heartbeat', {});
  },
  figures: (window, { cell: { clients } }) => exchangeOf(window, clients * MESSAGES),
};
const first = measured(answered);
/** What the first window has begun goes on. */
const rest = measured({ ...answered, warmUp: [0, 0], window: [ROUNDS, ROUNDS], begin: async () => {} });

/**
 * Workload 3: each client sends a heartbeat a second and is answered with ten messages of 10,000 bytes, all checked. Its
 * 500 rounds run only on peers that keep up at first: the others would fall further behind.
 */
async function run(row) {
  const { cell, quick } = row;
  const beginning = await first(row);
  if (!cell.rounds) return beginning;
  const isFit = beginning.late === 0 && !beginning.saturated && !beginning.starved;
  const result = quick || !isFit ? beginning : await rest(row);
  const rounds = result.received / (cell.clients * MESSAGES);
  return { ...result, rounds, completed: isFit && result.late === 0 && result.errors === 0 };
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
