import { EventEmitter, once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Server, type Socket as ServerSocket } from 'socket.io';
import { connect, connected, disconnectAll } from '../../../test/support/clients.js';
import { type RunningServer, startServer } from '../../../test/support/server.js';

type Step = (context: unknown, events: EventEmitter) => Promise<void>;

const scenarios = new URL('../../artillery/scenarios/', import.meta.url);
const load = async (file: string) => (await import(new URL(file, scenarios).href)) as Record<string, Step>;
const chat = await load('chat.mjs');

let gjallar: RunningServer;
let stock: HttpServer;
let io: Server;

beforeAll(async () => {
  gjallar = await startServer({ WORKERS: '1' });
  stock = createServer().listen(0, '127.0.0.1');
  io = new Server(stock);
  await once(stock, 'listening');
});
afterEach(disconnectAll);
afterAll(async () => {
  await gjallar.stop();
  await io.close();
});

/** A virtual user as artillery makes it, and the steps of its scenario. */
async function newUser(url: string, steps: Record<string, Step>, vars: object) {
  const name = `user-${Math.random().toString(36).slice(2)}`;
  const socket = connect(url, { auth: { name } });
  await connected(socket);
  const events = new EventEmitter();
  const errors: string[] = [];
  const rows = new Set<string>();
  events.on('error', (code) => errors.push(code));
  events.on('histogram', (row) => rows.add(row));
  const context = { sockets: { '': socket }, vars: { $uuid: name, $testId: name, ...vars } };
  /** Runs a step. @returns whether it succeeded */
  const play = (step: string) =>
    steps[step]!(context, events).then(
      () => true,
      () => false,
    );
  return { play, errors, rows, socket };
}

/** What a server does wrong with the text that it has been sent three times so far. */
function serveBadly(said: (socket: ServerSocket, texts: string[]) => void): string {
  io.removeAllListeners('connection');
  io.on('connection', (socket) => {
    const texts: string[] = [];
    socket.on('join', (_room, reply) => reply({ ok: true }));
    socket.on('leave', (_room, reply) => reply({ ok: true }));
    socket.on('message', ({ text }, reply) => {
      if (texts.push(text) === 3) said(socket, texts);
      reply({ ok: true });
    });
  });
  return `http://127.0.0.1:${(stock.address() as { port: number }).port}`;
}

/** Joins, says three messages, leaves. @returns whether each of these went well */
async function visit(user: Awaited<ReturnType<typeof newUser>>): Promise<boolean[]> {
  const outcomes: boolean[] = [];
  for (const step of ['join', 'say', 'say', 'say', 'leave']) outcomes.push(await user.play(step));
  return outcomes;
}

test('a visit to the chat goes well, and is timed', async () => {
  const user = await newUser(gjallar.url, chat, { rooms: 1 });
  expect(await visit(user)).toEqual([true, true, true, true, true]);
  user.socket.disconnect();
  expect(user.errors).toEqual([]);
  expect([...user.rows].sort()).toEqual(['artillery.busy', 'join.ack', 'leave.ack', 'message.ack', 'message.delivery']);
});

test.each<[string, number[], string[]]>([
  ['comes twice', [1, 2, 2, 3], ['MESSAGE_REPEATED']],
  ['is lost', [1, 3], ['MESSAGE_MISSING']],
  ['is lost as the first', [2, 3], ['MESSAGE_MISSING']],
  ['comes late', [1, 3, 2], ['MESSAGE_MISSING', 'MESSAGE_REPEATED']],
])('a message that %s fails its user', async (_what, order, errors) => {
  const url = serveBadly((socket, texts) => {
    for (const number of order) socket.emit('message', { text: texts[number - 1] });
  });
  const user = await newUser(url, chat, { rooms: 1 });
  expect(await visit(user)).toEqual([true, true, true, true, false]);
  expect(user.errors).toEqual(errors);
});

test('a gap in the offsets fails, though each sender is complete', async () => {
  const url = serveBadly((socket, texts) => {
    for (const [i, text] of texts.entries()) socket.emit('message', { text, offset: [1, 2, 4][i] });
  });
  const user = await newUser(url, chat, { rooms: 1 });
  expect((await visit(user)).at(-1)).toBe(false);
  expect(user.errors).toEqual(['MESSAGE_MISSING']);
});

test('a lost connection and a refusal fail with their codes', async () => {
  const user = await newUser(gjallar.url, chat, { rooms: 1 });
  expect(await user.play('join')).toBe(true);
  user.socket.io.engine.close();
  await once(user.socket as unknown as EventEmitter, 'connect');
  // Nobody has joined again.
  expect(await user.play('say')).toBe(false);
  expect(user.errors).toEqual(['CONNECTION_LOST', 'NOT_IN_ROOM']);
});
