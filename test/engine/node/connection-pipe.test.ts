import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { ConnectionPipe } from '../../../src/engine/node/connection-pipe.private.js';
import { canPass, stopReading } from '../../../src/engine/node/node-net.private.js';
import { own } from '../../support/children.js';
import { temporaryFolder } from '../../support/folder.js';
import { until } from '../../support/until.js';

/** A process that gets connections, and answers what comes on each with the beginning of the message that came with it. */
const receiver = `
  import { closeSync, openSync } from 'node:fs';
  import { createServer } from 'node:net';
  import { ConnectionPipe } from MODULE;
  const take = (message, socket) => {
    const name = message.toString('utf8', 0, message.indexOf(' '));
    if (!socket) return process.send(name);
    socket.on('data', (chunk) => socket.write(name + ':' + chunk));
    socket.resume();
  };
  createServer({ pauseOnConnect: true }, (carrier) => {
    new ConnectionPipe(carrier, take, () => process.exit());
    process.send('ready');
  }).listen(process.argv[2], () => process.send('listening'));
  const files = [];
  process.on('message', (what) => {
    if (what === 'use up') {
      try {
        for (;;) files.push(openSync('/dev/null'));
      } catch {}
    } else for (const file of files.splice(0)) closeSync(file);
    process.send(what);
  });
`;

const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A process that gets connections, over a pipe from this one. */
async function openPipe() {
  const folder = temporaryFolder();
  const [file, path] = [join(folder, 'receiver.mjs'), join(folder, 'pipe')];
  const module = new URL('../../../build/engine/node/connection-pipe.private.js', import.meta.url).href;
  writeFileSync(file, receiver.replace('MODULE', JSON.stringify(module)));
  const child = own(fork(file, [path], { execArgv: [] }));
  await once(child, 'message');
  const carrier = connect(path).pause();
  await Promise.all([once(carrier, 'connect'), once(child, 'message')]);
  const closed: boolean[] = [];
  const pipe = new ConnectionPipe(
    carrier,
    () => {},
    () => closed.push(true),
  );
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(
    () => child.kill('SIGKILL'),
    () => server.close(),
  );
  const open = async () => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
    const [socket] = (await once(server, 'connection')) as [Socket];
    let text = '';
    client.on('data', (chunk: string) => {
      text += chunk;
    });
    ends.push(
      () => client.destroy(),
      () => socket.destroy(),
    );
    return { client, socket, heard: () => text };
  };
  const pass = (socket: Socket, name: string, bytes = 0) => {
    expect(canPass(socket)).toBe(true);
    stopReading(socket);
    pipe.send(Buffer.from(`${name} ${'x'.repeat(bytes)}`), socket);
  };
  return { child, closed, open, pass };
}

test('each connection arrives with its message, however long that is, and what its client sends meanwhile', async () => {
  const { child, closed, open, pass } = await openPipe();
  const all: Awaited<ReturnType<typeof open>>[] = [];
  while (all.length < 40) all.push(await open());
  for (const [at, { client, socket }] of all.entries()) {
    pass(socket, `${at}`, at % 4 === 0 ? 200_000 : at);
    client.write('one');
  }
  await until(() => all.every(({ heard }) => heard() !== ''));
  expect(all.map(({ heard }) => heard())).toEqual(all.map((_, at) => `${at}:one`));
  for (const { client, socket } of all) {
    socket.destroy();
    client.write('two');
  }
  await until(() => all.every(({ heard }, at) => heard() === `${at}:one${at}:two`));
  child.kill('SIGKILL');
  await until(() => closed.length > 0);
});

test('a process without descriptors gets messages alone, and later ones with their own connections', async () => {
  const { child, open, pass } = await openPipe();
  const [first, second, third] = [await open(), await open(), await open()];
  const heard = async () => (await once(child, 'message'))[0];
  child.send('use up');
  expect(await heard()).toBe('use up');
  pass(first.socket, 'first', 1000);
  expect(await heard()).toBe('first');
  pass(second.socket, 'second', 70_000);
  expect(await heard()).toBe('second');
  child.send('free');
  expect(await heard()).toBe('free');
  pass(third.socket, 'third');
  third.client.write('one');
  await until(() => third.heard() === 'third:one');
  expect([first.heard(), second.heard()]).toEqual(['', '']);
});
