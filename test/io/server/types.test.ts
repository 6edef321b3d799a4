import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import '../../support/long.js';
import { applicationWith, root } from './support/package.js';

const consumer = `
import { createServer } from 'node:http';
import { App, createAdapter, Engine, Server, type ServerOptions, Socket } from 'gjallar';

interface ToServer { say: (text: string, done: (length: number) => void) => void }
interface ToClient { said: (text: string) => void }
interface Between { ping: () => void }
interface Data { name: string }

const http = createServer();
const options: Partial<ServerOptions> = { cors: { origin: '*' } };
const io = new Server<ToServer, ToClient, Between, Data>(http, { ...options, rateLimit: {}, pingInterval: 1000 });
io.on('connection', (socket: Socket<ToServer, ToClient, Between, Data>) => {
  socket.data.name = 'ada';
  socket.on('say', (text, done) => done(text.length));
  io.to('room').emit('said', 'hello');
  // @ts-expect-error: no such event
  socket.emit('sad', 'hello');
});
io.of('/admin').use((socket, next) => next());
new Server(3000);
new Server(App());
new Server({ adapter: createAdapter(new Engine()) as never });
http.listen(3000);
`;

/** A TypeScript client of the chat service, with the client helper. */
const client = `
import { type AcknowledgedEvents, type ClientEvents, type RoomMessage, RoomError, Rooms, type ServerEvents } from 'gjallar/client';
import type { ClientEvents as SameEvents } from 'gjallar';
import { io, type Socket } from 'socket.io-client';

const plain: Socket<ServerEvents, ClientEvents> = io('http://localhost:3000');
const same: Socket<ServerEvents, SameEvents> = plain;
plain.emit('leave', 'hall');
// @ts-expect-error: a message has a text
plain.emit('message', { room: 'hall' });
const socket: Socket<ServerEvents, AcknowledgedEvents> = io('http://localhost:3000');
same.on('message', ({ room, from, text, at, offset }) => console.log(room, from, text, at.toFixed(), offset?.toFixed()));
// @ts-expect-error: a message has no such field
socket.on('message', ({ sender }) => sender);

export async function talk(): Promise<void> {
  const reply = await socket.emitWithAck('message', { room: 'hall', text: 'Hello!' });
  // @ts-expect-error: a failed event has no position
  reply.offset;
  console.log(reply.ok ? reply.offset?.toFixed() : reply.code + reply.message);

  const rooms = new Rooms(socket);
  const heard: RoomMessage[] = [];
  const { members, position } = await rooms.join('hall', {
    last: 50,
    onMessage: (message) => heard.push(message),
    onRefused: ({ code }) => code.toLowerCase(),
    onRecovered: ({ complete, missed }) => complete || missed.toFixed(),
  });
  if (position) await rooms.join('yard', { position });
  // @ts-expect-error: no such option
  await rooms.join('hall', { first: 50 });
  try {
    await rooms.leave('hall');
  } catch (error) {
    if (error instanceof RoomError) console.log(error.code, members.toFixed());
  }
}
`;

const application = applicationWith({
  'consumer.ts': consumer,
  'consumer.mts': consumer,
  'consumer.cts': consumer,
  'client.ts': client,
  'client.mts': client,
  'client.cts': client,
});

test.each([
  ['commonjs', 'bundler', ['consumer.ts', 'client.ts']],
  ['esnext', 'bundler', ['consumer.ts', 'client.ts']],
  ['nodenext', 'nodenext', ['consumer.mts', 'consumer.cts', 'client.mts', 'client.cts']],
])('TypeScript with module %s and moduleResolution %s takes %j', async (module, moduleResolution, files) => {
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--types', 'node'];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [
    tsc,
    '--ignoreConfig',
    ...options,
    '--module',
    module,
    '--moduleResolution',
    moduleResolution,
    ...files,
  ];
  const run = promisify(execFile)(process.execPath, args, { cwd: application });
  await expect(run.catch(({ stdout }: { stdout: string }) => ({ stdout }))).resolves.toMatchObject({ stdout: '' });
});
