import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { cleanEnvironment } from '../support/server.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A copy of the build beside a uWebSockets.js without a binary for this platform, as on Node 24. */
const folder = mkdtempSync(join(tmpdir(), 'gjallar-binary-'));
const modules = join(folder, 'node_modules');
const own = join(modules, 'uWebSockets.js');
mkdirSync(own, { recursive: true });
for (const name of readdirSync(join(root, 'node_modules'))) {
  if (name !== 'uWebSockets.js') symlinkSync(join(root, 'node_modules', name), join(modules, name));
}
for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
cpSync(join(root, 'node_modules/uWebSockets.js/package.json'), join(own, 'package.json'));
writeFileSync(join(folder, 'server.js'), "import 'gjallar';");

afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) =>
  spawnSync(process.execPath, args, { cwd: folder, env: cleanEnvironment(), encoding: 'utf8', timeout: 20_000 });

const explanation = new RegExp(
  `uWebSockets\\.js has no binary for Node\\.js ${process.versions.node} on ${process.platform} ${process.arch}[^\n]*\\. ` +
    'Use Node\\.js 20 or 22, or run: npm install uWebSockets\\.js@\\S+\n',
);

test.each([[[]], [['run', 'server.js', '--workers', '1']]])(
  'a start without a binary ends with one line and the command that helps: gjallar %j',
  (args) => {
    const { status, stderr, stdout } = run('dist/main.js', ...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^gjallar: ${explanation.source}$`));
  },
);

test('so does the library', () => {
  const { status, stderr } = run('server.js');
  expect(status).toBe(1);
  expect(stderr).toMatch(explanation);
});

test('the command is the one that the documentation names', () => {
  const [, command] = /(npm install \S+)\n/.exec(run('dist/main.js').stderr)!;
  expect(readFileSync(join(root, 'docs/guide/node-versions.md'), 'utf8')).toContain(`    ${command}\n`);
});

test('help needs no binary', () => {
  expect(run('dist/main.js', '--help').status).toBe(0);
});
