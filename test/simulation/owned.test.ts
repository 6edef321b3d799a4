import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const source = fileURLToPath(new URL('../../src', import.meta.url));

/** The parts that are simulated. */
const ROOMS = [
  ...['features/recovery', 'features/state', 'features/presence'],
  ...['features/history/conversations', 'features/history/durable'],
  ...['cluster/hub', 'cluster/backplanes/frames', 'engine/delivery/outbox.ts'],
];

/** The ends of the wires, in whose place the simulation has its own. */
const ENDS = [
  ...['cluster/hub/hub-thread.ts', 'cluster/hub/thread.ts', 'cluster/hub/open.ts'],
  'features/state/sequencer/store/connection.ts',
];

/** Time, chance and input that the scheduler does not own. Global timers and `Date.now()`, it replaces. */
const FORBIDDEN = [
  /from 'node:(?:timers|timers\/promises|perf_hooks|net|dgram|http|https|worker_threads|child_process|cluster)'/,
  /\brandom(?:Bytes|Int)\b.* from 'node:crypto'|\bMath\.random\b|\bnew Date\(\)/,
];

const filesIn = (room: string): string[] =>
  room.endsWith('.ts')
    ? [room]
    : readdirSync(join(source, room), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => join(room, file));

test('the parts that are simulated have no time, chance or connection of their own', () => {
  const files = ROOMS.flatMap(filesIn).filter((file) => !ENDS.includes(file));
  expect(files.length).toBeGreaterThan(60);
  const own = files.flatMap((file) => {
    const lines = readFileSync(join(source, file), 'utf8').split('\n');
    return lines.filter((line) => FORBIDDEN.some((one) => one.test(line))).map((line) => `${file}: ${line.trim()}`);
  });
  expect(own).toEqual([]);
});
