import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { leave, nextEvent } from '../support/clients.js';
import { freePort } from '../support/ports.js';
import { cleanEnvironment } from '../support/server.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The application of the README, and the lines of its diff. */
const [, swapped = ''] = /```js\n([^`]+listen\(3000[^`]+)```/.exec(readme) ?? [];
const [, removed = '', added = ''] = /```diff\n-(.+)\n\+(.+)\n```/.exec(readme) ?? [];
const applications = [swapped.replace(added, removed), swapped];

const sockets: Socket[] = [];

function connect(url: string, transports?: ('polling' | 'websocket')[]): Socket {
  const socket = io(url, { forceNew: true, reconnectionDelay: 20, ...(transports && { transports }) });
  sockets.push(socket);
  return socket;
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) await leave(socket);
});

test('the diff of the README turns stock socket.io into the application below it', () => {
  const [before, after] = applications as [string, string];
  expect(before).not.toContain('gjallar');
  expect(before).toContain(removed);
  expect(after).toContain(added);
});

describe.each([
  ['before', 0],
  ['after', 1],
])('the application of the README %s the swap', (_when, index) => {
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-library-'));
  let application: ChildProcess;
  let url: string;

  beforeAll(async () => {
    // As npm would install it: the package beside its dependencies.
    const modules = join(directory, 'node_modules');
    mkdirSync(modules);
    for (const name of readdirSync(join(root, 'node_modules'))) {
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
    }
    symlinkSync(root, join(modules, 'gjallar'));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    writeFileSync(join(directory, 'app.mjs'), applications[index]!.replace('3000', String(port)));
    application = spawn(process.execPath, ['app.mjs'], { cwd: directory, env: cleanEnvironment(), stdio: 'inherit' });
  });

  afterAll(async () => {
    if (application.exitCode === null) {
      application.kill('SIGKILL');
      await once(application, 'exit');
    }
    rmSync(directory, { recursive: true });
  });

  test('serves rooms to clients on polling, on a WebSocket, and on their way from one to the other', async () => {
    const clients = [connect(url), connect(url, ['polling']), connect(url, ['websocket']), connect(url)];
    await Promise.all(clients.map((client) => nextEvent(client, 'connect')));
    const inside = clients.slice(0, 3);
    const outside = clients[3]!;
    const heardOutside: unknown[] = [];
    outside.on('said', (text) => heardOutside.push(text));
    const ready = inside.map((client, number) => {
      const heard = nextEvent(client, 'said');
      client.emit('join', 'hall');
      client.emit('join', `own ${number}`);
      client.emit('say', `own ${number}`, 'in');
      return heard;
    });
    expect(await Promise.all(ready)).toEqual([['in'], ['in'], ['in']]);

    const heard = inside.map((client) => nextEvent(client, 'said'));
    inside[1]!.emit('say', 'hall', 'Hello!');
    expect(await Promise.all(heard)).toEqual([['Hello!'], ['Hello!'], ['Hello!']]);

    const fence = nextEvent(outside, 'said');
    outside.emit('join', 'yard');
    outside.emit('say', 'yard', 'fence');
    await fence;
    expect(heardOutside).toEqual(['fence']);
  });
});
