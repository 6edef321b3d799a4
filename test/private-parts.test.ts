import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const folder = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const filesOf = (name: string) => readdirSync(folder(name), { recursive: true, encoding: 'utf8' });

/** Each file that uses private parts of a dependency, with the test that fails if a version changes them. */
const parts = {
  'base/foreign-objects.private.ts': 'base/foreign-objects.test.ts',
  'cluster/backplanes/redis/client.private.ts': 'cluster/backplanes/redis/database.test.ts',
  'cluster/backplanes/redis/redis-adapter.private.ts': 'io/socket-io.test.ts',
  'cluster/primary/node-cluster.private.ts': 'host/run/killed.test.ts',
  'engine/node/connection-pipe.private.ts': 'engine/node/connection-pipe.test.ts',
  'engine/node/node-net.private.ts': 'engine/node/node-net.test.ts',
  'io/moving-clients.private.ts': 'io/moving-clients.test.ts',
  'io/rooms/socket-memory.private.ts': 'io/rooms/socket-memory.test.ts',
  'io/socket-io-server.private.ts': 'io/socket-io-server.test.ts',
  'io/socket-io.private.ts': 'io/socket-io.test.ts',
};

test('all files that use private parts of dependencies are listed here', () => {
  expect(
    filesOf('src')
      .filter((name) => name.includes('.private.'))
      .sort(),
  ).toEqual(Object.keys(parts));
});

test.each(Object.entries(parts))('%s says which versions it was checked against, and has a test', (file, tested) => {
  expect(readFileSync(join(folder('src'), file), 'utf8')).toMatch(/checked[\s*]+against/i);
  expect(readFileSync(join(folder('test'), tested), 'utf8')).toContain(basename(file).replace(/\.ts$/, ''));
  expect(dirname(tested)).not.toBe('.');
});
