import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { applicationWith, root } from '../server/support/package.js';
import { endWithFile } from '../support/children.js';
import { connect, disconnectAll, nextEvent } from '../support/clients.js';
import { freePort } from '../support/ports.js';
import { cleanEnvironment } from '../support/server.js';
import { until } from '../support/until.js';

// The commands of docs/guide/compare.md, with an application whose events they name.

const page = readFileSync(join(root, 'docs/guide/compare.md'), 'utf8');
const commands = [...page.matchAll(/^ {4}npx gjallar (.*)$/gm)].map(
  ([, rest]) => `"${process.execPath}" dist/main.js ${rest}`,
);
const { folder, remove } = applicationWith({
  'package.json': '{ "type": "module" }',
  'server.js': readFileSync(join(root, 'examples/several-workers/server.js'), 'utf8'),
});
const inFolder = (command: string) => command.replace('dist/main.js', join(root, 'dist/main.js'));
afterEach(disconnectAll);
afterAll(remove);

/** Runs a command of the page to its end, without measuring the costs. */
function run(command: string): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: cleanEnvironment() };
    execFile('sh', ['-c', `${inFolder(command)} --clients 0`], options, (failure, out) =>
      resolve({ code: Number(failure?.code ?? 0), out }),
    );
  });
}

test('generated traffic, recorded traffic, and its comparison', async () => {
  const [generated, recorded, played] = commands;
  expect(await run(generated!)).toEqual({ code: 0, out: expect.stringContaining('Behaviour: no differences.') });

  const port = await freePort();
  const recorder = endWithFile(
    spawn('sh', ['-c', `exec ${inFolder(recorded!)}`], {
      cwd: folder,
      env: { ...cleanEnvironment(), PORT: String(port) },
      stdio: 'ignore',
    }),
  );
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/socket.io/`).catch(() => undefined)) !== undefined);
  const client = connect(url);
  await nextEvent(client, 'connect');
  await client.emitWithAck('join', 'lobby');
  client.disconnect();
  await until(() => readFileSync(join(folder, 'traffic.jsonl'), 'utf8').includes('"close"'));
  const ended = once(recorder, 'exit');
  recorder.kill('SIGTERM');
  await ended;
  expect(await run(played!)).toEqual({ code: 0, out: expect.stringContaining('Behaviour: no differences.') });
});
