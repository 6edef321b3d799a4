import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { imports } from '../../docs/site/house.js';

/**
 * What the chat service uses of the rest of gjallar that other applications cannot. Take out what it does without, and
 * add nothing: what it needs, others need too, so export it from a public module.
 */
const exceptions = `
base/bytes.ts
base/figures.ts
base/outage.ts
base/owner.ts
base/package.ts
base/problems.ts
base/process.ts
base/tally.ts
engine/clock.ts
engine/limits/address-limits.ts
engine/limits/work-queue.ts
engine/top-keys.ts
features/history/files.ts
features/state/members/format.ts
features/state/open.ts
features/state/options.ts
features/state/room.ts
host/config/options.ts
host/config/redis-names.ts
host/operations/reports.ts
host/runtime/application.ts
host/runtime/intervals.ts
host/runtime/machine-worker.ts
host/runtime/operator/actions.ts
host/runtime/own-port.ts
host/runtime/redis-client.ts
io/rooms/index.ts
`;

/** The files of the entries of package.json. The errors are public by `GjallarError`. */
const publicModules = new Set([...entries(), 'base/errors.ts']);

function entries(): string[] {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return Array.from(text.matchAll(/"default": "\.\/dist\/(.*)\.js"/g), ([, path]) => `${path}.ts`);
}

test('the chat service uses public modules, but for a list of exceptions that only shrinks', () => {
  const used = new Set<string>();
  for (const [file, found] of imports) {
    if (!file.startsWith('service/')) continue;
    for (const { path } of found) if (!path.startsWith('service/') && !publicModules.has(path)) used.add(path);
  }
  expect([...used].sort()).toEqual(exceptions.trim().split('\n'));
});
