import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { thisProcess } from '../../../src/base/process.js';
import type { StateRoom } from '../../../src/features/state/index.js';
import { disconnectAll, pairOn } from '../../io/rooms/support/clients.js';
import { DURABLE, RedisProcess } from '../../support/redis.js';
import { Reported, ToldProblems } from '../../support/reports.js';
import { eventually, until } from '../../support/until.js';
import { Wire } from '../../support/wire.js';
import { StoredWorkers, stateOf, storedIn } from './support/stored.js';
import { View } from './support/view.js';

let redis: RedisProcess;
let workers: StoredWorkers;
/** What the operator is told: `+` and `-` before a problem. */
let told: string[];
let lost: string[];
let dropped: object[];
let warn: (warning: string) => void;

beforeEach(async () => {
  redis = await RedisProcess.start(...DURABLE, '--enable-debug-command', 'yes');
  workers = new StoredWorkers({ redis: redis.url });
  told = [];
  lost = [];
  dropped = [];
  warn = (warning) => lost.push(warning);
  const problems = new ToldProblems(told, (text) => warn(text));
  thisProcess.reports = Object.assign(new Reported(), {
    problems,
    log: {
      warn: () => {},
      error: (fields: object, warning: string) => 'changes' in fields && dropped.push({ warning, ...fields }),
      info: (_: object, message: string) => message.startsWith('over: ') && problems.over(),
    },
  });
});
afterEach(async () => {
  disconnectAll();
  redis.signal('SIGCONT');
  await workers.stopAll();
  await redis.remove();
});

/** Sends commands to Redis as the operator. */
async function ask(...commands: string[][]): Promise<void> {
  const client = new Redis(redis.url);
  for (const [command, ...args] of commands) await client.call(command!, ...args);
  client.disconnect();
}

/** Sets as much as it can while Redis is as it is, and returns what Redis must have afterwards. */
function fill(room: StateRoom, round: number): Record<string, string> {
  const expected: Record<string, string> = {};
  for (let key = 0; key < 20; key++) {
    for (let value = 0; value < 10; value++) room.set(`k${key}`, [round, value]);
    expected[`k${key}`] = JSON.stringify([round, 9]);
  }
  room.set('gone', 1);
  room.delete('gone');
  return Object.fromEntries(Object.entries(expected).sort());
}

const UNREACHABLE = 'Redis is unreachable: state rooms are not stored';

test('a Redis that is down stops nothing, and gets the newest values when it returns', async () => {
  const { room, node } = await workers.start();
  const events: string[] = [];
  room.on('storeDown', () => events.push('down'));
  room.on('storeUp', () => events.push('up'));
  room.set('before', 1);
  room.set('deleted meanwhile', 1);
  await room.stored();
  await redis.stop();
  const expected = fill(room, 1);
  room.delete('deleted meanwhile');
  const pair = await pairOn(node);
  const view = new View(pair.client, 'quote');
  room.join(pair.socket);
  await view.shows(({ k19 }) => JSON.stringify(k19) === '[1,9]');
  await until(() => told.length > 0);
  expect(told).toEqual([`+${UNREACHABLE}`]);
  expect(room.stats().unstored).toBe(22);
  await redis.start();
  await room.stored();
  expect(await storedIn(redis.url)).toEqual({ before: '1', ...expected });
  await until(() => told.length > 1);
  expect(told).toEqual([`+${UNREACHABLE}`, `-${UNREACHABLE}`]);
  expect(events).toEqual(['down', 'up']);
});

test('a Redis that is full or read-only is told by its name', async () => {
  const { room } = await workers.start();
  room.set('before', 1);
  await room.stored();
  await ask(['CONFIG', 'SET', 'maxmemory', '1']);
  const full = fill(room, 1);
  await until(() => told.length > 0);
  expect(told).toEqual(['+Redis rejects writes (OOM): state rooms are not stored']);
  await ask(['CONFIG', 'SET', 'maxmemory', '0']);
  await room.stored();
  expect(await storedIn(redis.url)).toEqual({ before: '1', ...full });
  await until(() => told.length > 1);
  told.length = 0;

  await ask(['REPLICAOF', '127.0.0.1', '1']);
  const readOnly = fill(room, 2);
  await until(() => told.length > 0);
  expect(told).toEqual(['+Redis rejects writes (READONLY): state rooms are not stored']);
  // A server that starts reads what Redis has.
  await workers.stopAll();
  const again = await workers.start();
  expect(again.room.get('before')).toBe(1);
  expect(again.room.size).toBe(21);
  await ask(['REPLICAOF', 'NO', 'ONE']);
  const third = fill(again.room, 3);
  expect(Object.keys(third)).toEqual(Object.keys(readOnly));
  await again.room.stored();
  expect(await storedIn(redis.url)).toEqual({ before: '1', ...third });
  await until(() => !told.at(-1)!.startsWith('+'));
  expect(dropped).toMatchObject([{ rooms: 1, room: 'quotes', changes: 21 }]);
});

test('a Redis whose password has changed is told by its name, and gets everything once it takes the old one', async () => {
  await ask(['CONFIG', 'SET', 'requirepass', 'old']);
  const { room } = await workers.start({ redis: redis.url.replace('//', '//:old@') });
  room.set('before', 1);
  await room.stored();
  const operator = new Redis(redis.url, { password: 'old' });
  operator.on('error', () => {});
  await operator.config('SET', 'requirepass', 'new');
  // Connections that are open go on.
  room.set('open', 2);
  await room.stored();
  await operator.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  const expected = fill(room, 1);
  await until(() => told.at(-1) === '+Redis rejects its user or password (WRONGPASS): state rooms are not stored');
  expect(room.stats().unstored).toBe(21);
  await operator.config('SET', 'requirepass', 'old');
  operator.disconnect();
  await room.stored();
  const client = new Redis(redis.url, { password: 'old' });
  await client.config('SET', 'requirepass', '');
  client.disconnect();
  expect(await storedIn(redis.url)).toEqual({ before: '1', ...expected, open: '2' });
  await until(() => told.at(-1)!.startsWith('-'));
});

test('an emptied Redis is filled again by the servers, and it is told', async () => {
  const [one, two] = [await workers.start(), await workers.start()];
  one.room.set('of one', 1);
  two.room.set('of two', 2);
  one.room.set('gone', 1);
  await eventually(() => expect(two.room.size).toBe(3));
  two.room.delete('gone');
  await Promise.all([one.room.stored(), two.room.stored()]);
  await ask(['FLUSHALL']);
  const expected = { 'of one': '1', 'of two': '2' };
  await eventually(async () => expect(await storedIn(redis.url)).toEqual(expected));
  expect(lost.length).toBeGreaterThan(0);
  expect(new Set(lost)).toEqual(
    new Set(['Redis has lost the state of state rooms: the servers write what they have again']),
  );
  // It is filled once, and then it is quiet.
  const count = lost.length;
  one.room.set('of one', 3);
  await one.room.stored();
  expect(lost.length).toBe(count);
  await workers.stopAll();
  const three = await workers.start();
  expect(stateOf(three.room)).toEqual({ 'of one': 3, 'of two': 2 });
});

test('an emptied Redis is noticed while a key changes all the time', async () => {
  const { room } = await workers.start();
  room.set('still', 1);
  await room.stored();
  let isOver = false;
  const writing = (async () => {
    for (let count = 0; !isOver; count++) {
      room.set('busy', count);
      await room.stored();
    }
  })();
  await ask(['FLUSHALL']);
  await eventually(async () => expect(await storedIn(redis.url)).toMatchObject({ still: '1' }));
  isOver = true;
  await writing;
  expect(lost).toHaveLength(1);
});

test('a write that arrives after later ones is no loss', async () => {
  const wire = await Wire.to(redis.port);
  const client = new Redis(redis.url);
  /** How often Redis has carried out a command. */
  const countOf = async (command: string) =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await client.info('commandstats'))?.[1] ?? 0);
  const { room } = await workers.start({ redis: `redis://127.0.0.1:${wire.port}` });
  room.set('a', 1);
  await room.stored();
  wire.hold();
  room.set('a', 2);
  await until(() => told.length > 0);
  // The next connection works.
  await room.stored();
  const [writes, reads] = [await countOf('evalsha'), await countOf('hmget')];
  wire.release();
  await until(async () => (await countOf('evalsha')) > writes);
  // Each write reads a mark, and so does each check.
  await until(async () => (await countOf('hmget')) > reads + 4);
  expect(lost).toEqual([]);
  client.disconnect();
  await workers.stopAll();
  await wire.close();
});

test('a Redis that returns with older data gets what is newer, and brings nothing back', async () => {
  const [one, two] = [await workers.start({ maxKeys: 5 }), await workers.start({ maxKeys: 5 })];
  one.room.set('a', 'old');
  one.room.set('gone', 1);
  await one.room.stored();
  const client = new Redis(redis.url);
  const names = ['gjallar:{state:%2F:quotes}', 'gjallar:{state:%2F:quotes}:deleted'];
  const dumps = await Promise.all(names.map((name) => client.dumpBuffer(name)));
  one.room.set('a', 'new');
  await eventually(() => expect(two.room.get('a')).toBe('new'));
  two.room.delete('gone');
  // More deletions than anybody remembers.
  for (let key = 0; key < 30; key++) {
    two.room.set(`k${key}`, 1);
    two.room.delete(`k${key}`);
  }
  await Promise.all([one.room.stored(), two.room.stored()]);
  await eventually(() => expect(stateOf(one.room)).toEqual({ a: 'new' }));
  const transaction = client.multi().del(...names);
  for (const [at, name] of names.entries()) if (dumps[at]) transaction.restore(name, 0, dumps[at]!);
  await transaction.exec();
  client.disconnect();
  await eventually(async () => expect(await storedIn(redis.url)).toEqual({ a: '"new"' }));
  for (const { room } of workers.workers) expect(stateOf(room)).toEqual({ a: 'new' });
  expect(lost.length).toBeGreaterThan(0);
});

test('a server that starts without Redis serves after some time, and takes the state as changes later', async () => {
  const one = await workers.start();
  one.room.set('kept', 1);
  one.room.set('newer', 'old');
  await one.room.stored();
  await workers.stopAll();
  await redis.stop();
  const two = await workers.start();
  two.room.set('newer', 'new');
  const pair = await pairOn(two.node);
  const view = new View(pair.client, 'quote');
  two.room.join(pair.socket);
  await view.shows(({ newer }) => newer === 'new');
  expect(view.state).toEqual({ newer: 'new' });
  const { version } = view;
  await redis.start();
  await view.shows(({ kept }) => kept === 1);
  expect(view.state).toEqual({ kept: 1, newer: 'new' });
  expect(view.messages.filter(([, meta]) => meta.snapshot)).toHaveLength(1);
  await two.room.stored();
  expect(await storedIn(redis.url)).toEqual({ kept: '1', newer: '"new"' });
  // A client with a version from before gets what it lacks.
  const late = await pairOn(two.node);
  const second = new View(late.client, 'quote');
  two.room.join(late.socket, { version });
  await second.shows(({ kept }) => kept === 1);
});

test('what is no state in Redis reaches no client', async () => {
  const one = await workers.start();
  one.room.set('good', 1);
  await one.room.stored();
  await workers.stopAll();
  const name = 'gjallar:{state:%2F:quotes}';
  const clock = `${Date.now() * 4096}`;
  await ask(
    ['HSET', name, 'mno-json', `${clock} someone 1 5`, 'vno-json', '{"a":'],
    ['HSET', name, 'mno-value', `${clock} someone 1 5`],
    ['HSET', name, 'mno-meta', 'x', 'vno-meta', '1'],
    ['HSET', name, 'mlate', '9007199254740993 someone 1 1', 'vlate', '1'],
    ['HSET', name, 'mlong', `${clock} someone 1 9000000`, 'vlong', '1'],
    ['HSET', name, 'acount', 'many', 'ageneration', '-1', 'alife', 'a.b\n"'],
  );
  const two = await workers.start();
  expect(stateOf(two.room)).toEqual({ good: 1 });
  two.room.set('no-json', 2);
  await two.room.stored();
  const pair = await pairOn(two.node);
  const view = new View(pair.client, 'quote');
  two.room.join(pair.socket);
  await view.shows(() => true);
  expect(view.state).toEqual({ good: 1, 'no-json': 2 });
  expect(view.version).toMatch(/^[\w-]+(\.\w+){2}$/);
});
