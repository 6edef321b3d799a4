import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { wire } from '../../src/cluster/wire-number.js';

const source = fileURLToPath(new URL('../../src/', import.meta.url));

/** What the primary, the hub and the workers of a machine say to each other is written and read in these files. */
const wires = [
  'base/hub-service.ts',
  'base/worker-name.ts',
  'cluster/protocol.ts',
  'cluster/mesh/mesh.ts',
  'cluster/node.ts',
  'cluster/hub/hub-health.ts',
  'cluster/hub/hub-thread.ts',
  'cluster/relay/messages.ts',
  'features/hub-link.ts',
  'features/recovery/messages.ts',
  'features/recovery/version-vector.ts',
  'features/state/entries.ts',
  'features/state/values.ts',
  'features/state/sequencer/messages.ts',
  ...readdirSync(`${source}cluster/wire`).map((file) => `cluster/wire/${file}`),
].sort();

/** The code without comments and spaces. */
const codeOf = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '').replace(/\s+/g, '');

test('the number of the wires is raised with them', () => {
  const code = wires.map((file) => codeOf(readFileSync(source + file, 'utf8')));
  const hash = createHash('sha256').update(code.join('\0')).digest('hex').slice(0, 16);
  // Changed on purpose? Raise the number in src/cluster/wire-number.ts, unless both builds understand each other, and
  // record this hash beside it.
  expect(wire.hash).toBe(hash);
});

test('a comment is no change, and a type is', () => {
  expect(codeOf('/** One. */\nexport type A = { a: 1 }; // Two.\n')).toBe('exporttypeA={a:1};');
  expect(codeOf("const url = 'https://a';")).toBe("consturl='https://a';");
});
