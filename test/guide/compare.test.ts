import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { applicationWith, root } from '../io/server/support/package.js';
import { cleanEnvironment } from '../support/server.js';
import { blockOf } from './support/blocks.js';
import '../support/long.js';

// The commands of docs/guide/compare.md, with an application whose events they name.

const page = readFileSync(join(root, 'docs/guide/compare.md'), 'utf8');
const commands = [...page.matchAll(/^ {4}npx gjallar (.*)$/gm)].map(([, rest]) => rest!);
const folder = applicationWith({
  'package.json': '{ "type": "module" }',
  'server.js': readFileSync(join(root, 'examples/several-workers/server.js'), 'utf8'),
  'steps.mjs': blockOf('docs/guide/compare.md', '// steps.mjs'),
});

/** Runs a command of the page to its end, without measuring the costs. */
function run(command: string): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: cleanEnvironment() };
    const program = `"${process.execPath}" "${join(root, 'dist/main.js')}" ${command} --clients 0`;
    execFile('sh', ['-c', program], options, (failure, out) => resolve({ code: Number(failure?.code ?? 0), out }));
  });
}

test('generated traffic, and the steps of a driver file', async () => {
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    expect(await run(command)).toEqual({ code: 0, out: expect.stringContaining('Behaviour: no differences.') });
  }
});
