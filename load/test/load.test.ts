import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Server, type Socket as ServerSocket } from 'socket.io';
import { connect, connected, disconnectAll } from '../../test/support/clients.js';
import { freePort } from '../../test/support/ports.js';
import { untilGone } from '../../test/support/process.js';
import { cleanEnvironment, type RunningServer, startServer as startGjallar } from '../../test/support/server.js';
import { startServer } from '../artillery/run.js';
import { scenarios, scriptOf } from '../artillery/scenarios.js';
import { verdictOf } from '../artillery/verdict.js';
import { readMachine } from '../harness/process/machine.js';

const load = fileURLToPath(new URL('../load.js', import.meta.url));

/** Runs the command until it ends. None of these calls may get as far as to run anything. */
async function run(TARGET: string) {
  const child = spawn(process.execPath, [load], {
    env: { ...cleanEnvironment(), TARGET },
    stdio: 'pipe',
    timeout: 20_000,
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, ...output };
}

test.concurrent.each([
  'localhost:3000',
  'nonsense',
  'ftp://chat',
  'http://chat/room',
  'http://u:p@chat',
  'http://chat/?a',
])('TARGET=%s is refused', async (TARGET) => {
  const { code, stdout, stderr } = await run(TARGET);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(`TARGET=${TARGET} is not the address of a server, such as https://chat.example.com`);
});

test('a target where nobody listens is told from one that is another server', async () => {
  const silent = await run(`http://127.0.0.1:${await freePort()}`);
  expect(silent).toMatchObject({ code: 3, stdout: '' });
  expect(silent.stderr).toMatch(/^load: TARGET=http:\/\/127\.0\.0\.1:\d+ does not answer: .*ECONNREFUSED.*\n$/);

  const other = createServer((_, res) => res.end('ok')).listen(0, '127.0.0.1');
  await once(other, 'listening');
  try {
    const TARGET = `http://127.0.0.1:${(other.address() as { port: number }).port}`;
    const stderr = `load: TARGET=${TARGET} is no gjallar: its /readyz is another's\n`;
    expect(await run(TARGET)).toEqual({ code: 3, stdout: '', stderr });
  } finally {
    other.close();
  }
});

test('the command starts a server of its own, and leaves nothing of it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-test-'));
  const log = join(folder, 'server.log');
  // Node.js keeps compiled code in TMPDIR, from version 22 on.
  const own = { ...cleanEnvironment(), TMPDIR: folder, NODE_DISABLE_COMPILE_CACHE: '1' };
  const env = { ...own, WORKERS: '1', JWT_SECRET: 'a'.repeat(32), TLS_KEY: 'missing' };
  await expect(startServer(log, { ...env, WORKERS: 'many' })).rejects.toThrow(
    'the server ended with 1: gjallar: WORKERS must be',
  );
  const server = await startServer(log, env);
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await server.stop();
  await untilGone(server.process.pid!);
  expect(readFileSync(log, 'utf8')).toContain(`gjallar listens on ${server.url} with 1 worker on the embedded bus"`);
  expect(readdirSync(folder)).toEqual(['server.log']);
  rmSync(folder, { recursive: true });
});

test('stolen time is told from what programs used, and waiting is neither', () => {
  // user nice system idle iowait irq softirq steal, in hundredths of a second
  const text = 'cpu  100 10 50 9999 888 5 15 30 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n';
  expect(readMachine(text)).toEqual({ used: 1_800_000, stolen: 300_000 });
  expect(readMachine('').used).toBeNaN();
});

test.each(Object.keys(scenarios))('%s names steps that there are, and as many clients as arrive', async (name) => {
  for (const quick of [false, true]) {
    const { config, scenarios: played } = scriptOf(name, quick);
    expect(played).toMatchObject([{ engine: 'socketio' }]);
    // Artillery takes a processor for an ES module by this ending alone.
    expect(config.processor).toMatch(/\.mjs$/);
    const steps = (await import(pathToFileURL(config.processor).href)) as Record<string, unknown>;
    const named = [...JSON.stringify(played).matchAll(/"function":"(\w+)"/g)].map(([, step]) => step);
    expect(Object.keys(steps).sort()).toEqual([...new Set(named)].sort());
    expect(config.phases).toEqual([{ duration: expect.any(Number), arrivalCount: config.variables.clients }]);
    expect(config.phases[0]!.duration).toBeLessThanOrEqual(20);
    const conditions = config.plugins.ensure.conditions.map(({ expression }) => expression);
    expect(conditions.slice(0, 2)).toEqual(['vusers.failed == 0', 'vusers.completed == vusers.created']);
    expect(conditions.length).toBeGreaterThan(2);
  }
});

const met = { code: 0, printed: '\nChecks:\nok: vusers.failed == 0\nok: message.ack.p99 < 500\n' };
const missed = { code: 1, printed: '\nChecks:\nok: vusers.failed == 0\nfail: message.ack.p99 < 500\n' };
const stopped = { code: null, printed: '' };
const errors = (...codes: string[]) => ({ counters: Object.fromEntries(codes.map((code) => [`errors.${code}`, 3])) });
const busy = { summaries: { 'artillery.busy': { p75: 100.5 } } };
const free = { cores: 2, used: 0.5, stolen: 0 };
const used = { cores: 2, used: 1.2, stolen: 0.1 };
const stolen = { cores: 2, used: 0.5, stolen: 0.9 };
const unknown = { cores: 2, used: Number.NaN, stolen: Number.NaN };
const byOthers = ['other programs took 0.8 of 2 cores'];

test.each<[string, Parameters<typeof verdictOf>[0], typeof free, string, string[]]>([
  ['met thresholds are met', met, free, 'ok', []],
  ['met thresholds are met on a slow machine', met, stolen, 'ok', ['the host took 0.9 of 2 cores away']],
  ['nothing was checked', { ...met, printed: '\nChecks:\n' }, free, 'failed', []],
  ['artillery fails with all thresholds met', { ...met, code: 11 }, free, 'failed', []],
  ['one is missed, and artillery does not say so', { ...missed, code: 0 }, free, 'failed', []],
  ['a missed time fails if nothing was in the way', missed, free, 'failed', []],
  ['a missed time fails on a machine that does not tell', missed, unknown, 'failed', []],
  ['a missed time is inconclusive if others used it', missed, used, 'inconclusive', byOthers],
  [
    'a missed time is inconclusive if the host took it',
    missed,
    stolen,
    'inconclusive',
    ['the host took 0.9 of 2 cores away'],
  ],
  ['artillery could not keep up', { ...missed, report: busy }, free, 'inconclusive', ['artillery was the bottleneck']],
  ['a run without an end fails', stopped, free, 'failed', []],
  ['a run without an end is inconclusive if others used it', stopped, used, 'inconclusive', byOthers],
  ['a crash of artillery fails', { code: 11, printed: '' }, used, 'failed', byOthers],
  [
    'lost messages fail the run',
    { ...missed, report: errors('MESSAGE_MISSING', 'NO_REPLY') },
    used,
    'failed',
    byOthers,
  ],
  ['replies that are late do not', { ...missed, report: errors('NO_REPLY') }, used, 'inconclusive', byOthers],
  [
    'replies that are late fail if nothing was in the way',
    { ...missed, report: errors('NO_REPLY') },
    free,
    'failed',
    [],
  ],
])('verdict: %s', (_what, played, machine, verdict, reasons) => {
  expect(verdictOf(played, { artillery: 0.28, server: 0.13 }, machine)).toEqual({ verdict, reasons });
});

type Step = (context: unknown, events: EventEmitter) => Promise<void>;

const chat = (await import(new URL('../artillery/scenarios/chat.mjs', import.meta.url).href)) as Record<string, Step>;

let gjallar: RunningServer;
let stock: HttpServer;
let io: Server;

beforeAll(async () => {
  gjallar = await startGjallar({ WORKERS: '1' });
  stock = createServer().listen(0, '127.0.0.1');
  io = new Server(stock);
  await once(stock, 'listening');
});
afterEach(disconnectAll);
afterAll(async () => {
  await gjallar.stop();
  await io.close();
});

/** A virtual user as artillery makes it, with the steps of the scenario `chat`. */
async function newUser(url: string) {
  const name = `user-${Math.random().toString(36).slice(2)}`;
  const socket = connect(url, { auth: { name } });
  await connected(socket);
  const events = new EventEmitter();
  const errors: string[] = [];
  const rows = new Set<string>();
  events.on('error', (code) => errors.push(code));
  events.on('histogram', (row) => rows.add(row));
  const context = { sockets: { '': socket }, vars: { $uuid: name, $testId: name, rooms: 1 } };
  /** Runs a step. @returns whether it succeeded */
  const play = (step: string) =>
    chat[step]!(context, events).then(
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
  const user = await newUser(gjallar.url);
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
  const user = await newUser(url);
  expect(await visit(user)).toEqual([true, true, true, true, false]);
  expect(user.errors).toEqual(errors);
});

test('a gap in the offsets fails, though each sender is complete', async () => {
  const url = serveBadly((socket, texts) => {
    for (const [i, text] of texts.entries()) socket.emit('message', { text, offset: [1, 2, 4][i] });
  });
  const user = await newUser(url);
  expect((await visit(user)).at(-1)).toBe(false);
  expect(user.errors).toEqual(['MESSAGE_MISSING']);
});

test('a lost connection and a refusal fail with their codes', async () => {
  const user = await newUser(gjallar.url);
  expect(await user.play('join')).toBe(true);
  user.socket.io.engine.close();
  await once(user.socket as unknown as EventEmitter, 'connect');
  // Nobody has joined again.
  expect(await user.play('say')).toBe(false);
  expect(user.errors).toEqual(['CONNECTION_LOST', 'NOT_IN_ROOM']);
});
