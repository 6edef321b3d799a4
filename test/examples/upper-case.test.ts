import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { io } from 'socket.io-client';
import { endWithFile } from '../support/children.js';
import { nextEvent } from '../support/clients.js';
import { freePort } from '../support/ports.js';
import { cleanEnvironment } from '../support/server.js';

let application: ChildProcess;
let url: string;

beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const path = fileURLToPath(new URL('../../examples/upper-case/server.js', import.meta.url));
  const env = { ...cleanEnvironment(), PORT: String(port) };
  application = endWithFile(spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] }));
  expect(await once(createInterface(application.stdout!), 'line')).toEqual([`listening on ${port}`]);
});

afterAll(async () => {
  if (application.exitCode !== null) return;
  application.kill('SIGKILL');
  await once(application, 'exit');
});

test.each([[['polling']], [['websocket']]])('welcomes, and answers in upper case, over %s', async (transports) => {
  const socket = io(url, { forceNew: true, transports });
  try {
    const [welcome] = await nextEvent<[string]>(socket, 'welcome');
    expect(welcome).toBe(`Welcome, ${socket.id}!`);
    socket.emit('message', 'thirty characters, more or less');
    expect(await nextEvent(socket, 'message')).toEqual(['THIRTY CHARACTERS, MORE OR LESS']);
  } finally {
    socket.disconnect();
  }
});

test('serves its scenario', async () => {
  const response = await fetch(`${url}/scenario`);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toMatchObject({ everySeconds: 25 });
});
