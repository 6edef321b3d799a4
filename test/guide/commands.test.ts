import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { applicationWith, root } from '../io/server/support/package.js';
import { own } from '../support/children.js';
import { nextEvent } from '../support/clients.js';
import { copyPem } from '../support/pem.js';
import { freePort } from '../support/ports.js';
import { cleanEnvironment } from '../support/server.js';
import { until } from '../support/until.js';
import { blockOf, blocksOf } from './support/blocks.js';
import '../support/long.js';

const main = join(root, 'dist/main.js');
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A folder of an application, in which commands run as npm would find them. */
function folderWith(files: Record<string, string>) {
  const folder = applicationWith(files);
  return {
    folder,
    /** Starts a command of the pages. Returns the lines that it prints. */
    start(command: string, environment: Record<string, string> = {}): string[] {
      const [, ...args] = command
        .trim()
        .split(' ')
        .map((word) => (word === 'gjallar' ? main : word));
      const env = { ...cleanEnvironment(), DRAIN_TIMEOUT: '0', ...environment };
      const child = own(spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] }));
      const lines: string[] = [];
      createInterface(child.stdout!).on('line', (line) => lines.push(line));
      const ended = new Promise((resolve) => child.once('exit', resolve));
      cleanUps.push(async () => {
        child.kill('SIGTERM');
        await ended;
      });
      return lines;
    },
  };
}

function client(url: string, options = {}): Socket {
  const socket = io(url, { forceNew: true, reconnectionDelay: 20, reconnectionDelayMax: 100, ...options });
  cleanUps.push(() => socket.disconnect());
  return socket;
}

/** The application of README.md, and what it was before the swap that its diff shows. */
const after = blocksOf('README.md').find(({ text }) => text.includes('listen(3000'))!.text;
const [, removed = '', added = ''] = /-(.+)\n\+(.+)\n/.exec(blockOf('README.md', '-import')) ?? [];
const before = after.replace(added, removed);

async function expectRooms(port: number): Promise<void> {
  const [one, two] = [client(`http://127.0.0.1:${port}`), client(`http://127.0.0.1:${port}`)];
  await Promise.all([one, two].map((socket) => nextEvent(socket, 'connect')));
  for (const socket of [one, two]) socket.emit('join', 'hall');
  const joined = nextEvent(two, 'said');
  two.emit('say', 'hall', 'in');
  await joined;
  const said = nextEvent(two, 'said');
  one.emit('join', 'hall');
  one.emit('say', 'hall', 'Hello!');
  expect(await said).toEqual(['Hello!']);
}

describe('the unmodified application of README.md', () => {
  const commands = ['node --import gjallar/register', 'npx gjallar run'].map((start) => blockOf('README.md', start));

  test('is on socket.io, and runs on gjallar after the swap of one line', async () => {
    expect([before.includes('gjallar'), before.includes(removed), after.includes(added)]).toEqual([false, true, true]);
    const port = await freePort();
    folderWith({ 'server.mjs': after.replace('3000', `${port}`) }).start('node server.mjs');
    await expectRooms(port);
  });

  test.each(commands)('runs with %s', async (command) => {
    const port = await freePort();
    folderWith({ 'server.js': before.replace('3000', `${port}`), 'package.json': '{"type":"module"}' }).start(command);
    await expectRooms(port);
    const response = await fetch(`http://127.0.0.1:${port}/socket.io/?EIO=4&transport=none`);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('runs with the command of docs/guide/deployment.md', async () => {
    const port = await freePort();
    const command = blockOf('docs/guide/deployment.md', 'node node_modules/gjallar');
    expect(blockOf('docs/run.md', 'node node_modules/gjallar').split(' --')[0]).toBe(command.split(' --')[0]);
    folderWith({ 'server.js': before.replace('3000', `${port}`), 'package.json': '{"type":"module"}' }).start(command);
    await expectRooms(port);
  });

  test('docs/move.md and docs/run.md give the same commands', () => {
    expect(commands).toContain(blockOf('docs/move.md', 'node --import'));
    expect(commands).toContain(blockOf('docs/move.md', 'npx gjallar run'));
    expect(commands).toContain(blockOf('docs/run.md', 'npx gjallar run server.js --workers'));
  });
});

test('docs/move.md: the one line, in both kinds of modules', async () => {
  const [esm, commonJs] = blockOf('docs/move.md', 'import { Server }').trim().split('\n') as [string, string];
  const use = '\nconsole.log(typeof new Server().of);';
  const application = folderWith({ 'one.mjs': esm + use, 'two.cjs': commonJs + use });
  for (const file of ['one.mjs', 'two.cjs']) {
    const lines = application.start(`node ${file}`);
    await until(() => lines.includes('function'));
  }
});

test('docs/move.md: an SSLApp that terminates TLS', async () => {
  const port = await freePort();
  const code = blockOf('docs/move.md', 'import { Server, SSLApp }').replaceAll('443', `${port}`);
  const application = folderWith({ 'app.mjs': code });
  copyPem(join(application.folder, 'key.pem'), join(application.folder, 'cert.pem'));
  application.start('node app.mjs');
  const ca = readFileSync(join(application.folder, 'cert.pem'));
  await nextEvent(client(`https://localhost:${port}`, { ca }), 'connect');
  const status = new Promise((resolve, reject) => {
    const url = `https://localhost:${port}/socket.io/?EIO=4&transport=polling`;
    request(url, { ca, agent: false }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
  expect(await status).toBe(200);
});

test('docs/move.md: the parts on an app of uWebSockets.js', async () => {
  const port = await freePort();
  const code = blockOf('docs/move.md', 'import { App, createAdapter').replaceAll('3000', `${port}`);
  folderWith({ 'app.mjs': `${code}\nio.on('connection', (socket) => socket.emit('hello'));` }).start('node app.mjs');
  await nextEvent(client(`http://127.0.0.1:${port}`), 'hello');
  expect((await fetch(`http://127.0.0.1:${port}/socket.io/socket.io.min.js`)).status).toBe(200);
});

test('docs/guide/presence.md, and a store alone of docs/guide/durable-rooms.md', async () => {
  const presence = blockOf('docs/guide/presence.md', '// server.mjs');
  const events = blockOf('docs/guide/presence.md', 'presence.on');
  const member = blockOf('docs/guide/presence.md', '// client.mjs');
  const history = blockOf('docs/guide/durable-rooms.md', 'import { SqliteHistoryStore }');
  const port = await freePort();
  const application = folderWith({
    'presence.mjs': `${presence.replace('3000', String(port))}\n${events}`,
    'client.mjs': member.replace('3000', String(port)),
    'history.mjs': `${history}
      await history.append('hall', [{ from: 'Bo', text: 'Hi', at: Date.now() }]);
      const { messages: missed, complete: isAll } = await history.read('hall', { after: offset, tag, limit: 100 });
      console.log(messages.length, complete, missed.map(({ text }) => text).join(), isAll);
      await history.close();`,
  });
  const lines = application.start('node history.mjs');
  await until(() => lines.includes('0 true Hi true'));
  const server = application.start(
    `${blockOf('docs/run.md', 'npx gjallar run server.js --workers').split(' server.js')[0]} presence.mjs --workers 2`,
  );
  const ada = application.start('node client.mjs Ada');
  await until(() => ada.includes("[ 'Ada' ]"));
  const ben = application.start('node client.mjs Ben');
  for (const printed of [ada, ben]) await until(() => printed.some((line) => /'Ada', 'Ben'|'Ben', 'Ada'/.test(line)));
  await until(() => server.includes('Ben is in hall undefined'));
});
