import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { root } from '../io/server/support/package.js';
import { blocksOf } from './support/blocks.js';

/**
 * What executes the blocks of the pages, by the page and the beginning of a block; '' stands for all blocks of a page.
 */
const executed: Record<string, Record<string, string>> = {
  'README.md': {
    'npm install && npm start': '.ci/quick-start.mjs',
    'npm install ./gjallar-': '.ci/quick-start.mjs',
    import: 'test/guide/commands.test.ts',
    '-import': 'test/guide/commands.test.ts',
    'npm install && npm test': '.ci/quick-start.mjs',
    'node --import gjallar/register': 'test/guide/commands.test.ts',
    'npx gjallar run': 'test/guide/commands.test.ts',
  },
  'docs/run.md': { '': 'test/guide/commands.test.ts' },
  'docs/move.md': {
    'import { ': 'test/guide/commands.test.ts',
    'node --import': 'test/guide/commands.test.ts',
    'export class GjallarAdapter': 'test/examples/servers.test.ts',
    'npx gjallar run': 'test/guide/commands.test.ts',
  },
  'docs/guide/quick-start.md': {
    'npm install && npm start': '.ci/quick-start.mjs',
    import: 'test/guide/first-client.test.ts',
  },
  'docs/guide/deployment.md': { node: 'test/guide/commands.test.ts' },
  'docs/guide/compare.md': {
    'npm install': 'test/guide/compare.test.ts',
    '// steps.mjs': 'test/guide/compare.test.ts',
    'npx gjallar compare server.js --driver': 'test/guide/compare.test.ts',
  },
  'docs/guide/several-workers.md': { '': 'test/guide/several-workers.test.ts' },
  'docs/guide/testing.md': { '': 'test/guide/testing.test.ts' },
  'docs/guide/live-data.md': { '': 'test/guide/live-data.test.ts' },
  'docs/guide/authentication.md': { 'import ': 'test/guide/authentication.test.ts' },
  'docs/guide/durable-rooms.md': { 'import ': 'test/guide/durable-rooms.test.ts' },
  'docs/guide/presence.md': {
    '// server.mjs': 'test/guide/commands.test.ts',
    '// client.mjs': 'test/guide/commands.test.ts',
    'presence.on': 'test/guide/commands.test.ts',
  },
  'docs/guide/event-schemas.md': { import: 'test/guide/types.test.ts' },
  'docs/guide/emitter.md': { '': 'test/cluster/emitter/emitter.test.ts' },
  'docs/guide/recovery.md': { '': 'test/guide/first-client.test.ts' },
  'docs/guide/proxies.md': { '': 'test/guide/proxies.test.ts' },
};

const pages = [
  'README.md',
  'docs/run.md',
  'docs/move.md',
  ...readdirSync(join(root, 'docs/guide')).map((name) => `docs/guide/${name}`),
];

describe.each(pages)('the blocks of %s', (page) => {
  const known = Object.entries(executed[page] ?? {});

  test('are there, and what executes them names the page', () => {
    const firsts = blocksOf(page).map(({ first }) => first);
    for (const [start, by] of known) {
      expect(firsts).toContainEqual(
        expect.stringMatching(new RegExp(`^${start.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`)),
      );
      expect(existsSync(join(root, by))).toBe(true);
      // The example with Nest has the code of the page, and is run as an example.
      if (by !== 'test/examples/servers.test.ts') {
        expect(readFileSync(join(root, by), 'utf8')).toContain(page.split('/').at(-1)!);
      }
    }
  });
});
