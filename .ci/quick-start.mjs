#!/usr/bin/env node
// Follows the quick start of README.md and docs/guide/quick-start.md where a test cannot, because npm installs and builds:
// starts the service with `npm start`, and the application of README.md with the packed package in an empty folder.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = new URL('..', import.meta.url).pathname;
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'gjallar-quick-start-'));

/** Runs a command to its end. */
function run(command, cwd) {
  console.log(`> ${command}`);
  const { status } = spawnSync(command, { cwd, shell: true, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
}

/** Runs a server until it has printed that it listens, and has answered a request. */
async function tryServer(command, cwd, environment, path) {
  console.log(`> ${command}`);
  const env = { ...process.env, HOST: '127.0.0.1', WORKERS: '2', DATA_DIR: join(folder, 'data'), ...environment };
  const child = spawn(command, { cwd, env, shell: true, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const port = await new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`${command} ended with ${code}`)));
      createInterface(child.stdout).on('line', (line) => {
        const listening = /listens on (?:http:\/\/127\.0\.0\.1:|port )(\d+)/.exec(line);
        if (listening) resolve(listening[1]);
      });
    });
    const { status } = await fetch(`http://127.0.0.1:${port}${path}`);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
  } finally {
    if (child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
    await ended;
  }
}

try {
  // A clone has no build yet.
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  await tryServer('npm start', root, { PORT: '0' }, '/healthz');

  const [, packing] = /Run `(npm run build && npm pack)`/.exec(readme);
  const [install] = /npm install \.\/gjallar-\S+\.tgz/.exec(readme);
  const [start] = /npx gjallar run server\.js .*/.exec(readme);
  const [, application] = /```js\n([^`]*from 'gjallar';[^`]*)```/.exec(readme);
  run(`${packing} --pack-destination ${folder}`, root);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'server.js'), application.replace('3000', '0'));
  run(`${install} socket.io`, folder);
  await tryServer(start, folder, {}, '/socket.io/?EIO=4&transport=polling');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
