import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { freePort } from '../../test/support/ports.js';
import { untilGone } from '../../test/support/process.js';
import { until } from '../../test/support/until.js';
import { app, callCompare, compareResult, runCompare, startCommand } from './support.js';
import '../../test/support/long.js';

const folder = mkdtempSync(join(tmpdir(), 'gjallar-compare-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const example = (name: string) => fileURLToPath(new URL(`../../examples/${name}/server.js`, import.meta.url));
const chat = [
  '--get',
  '/',
  '--get',
  '/api?a=1',
  '--emit',
  'say,"hello"',
  '--ask',
  'echo,1,{"a":[2]}',
  '--ask',
  'bytes',
];

// Each test has its own processes, and mostly waits. jest would run the tests of one block after those of another.
// The longest comes first.
test.concurrent('each deliberate difference is found: exit code 1', async () => {
  const events = ['--ask', 'value', '--emit', 'order', '--emit', 'missing', '--ask', 'silent', '--emit', 'end'];
  const paths = ['--get', '/header', '--get', '/body', '--get', '/'];
  const namespaces = ['--namespace', '/', '--namespace', '/closed'];
  const { code, result } = await compareResult([app('different.cjs'), ...namespaces, ...paths, ...events]);
  expect(code).toBe(1);
  const found = result.behaviour.differences.filter(({ where }: { where: string }) => !/ polling/.test(where));
  expect(found).toEqual([
    { where: 'GET /header (request 1): headers: x-served', stock: 'a', gjallar: 'b' },
    { where: 'GET /body (request 2): body', stock: 'one', gjallar: 'two' },
    { where: 'GET / (request 3): status', stock: 200, gjallar: 500 },
    { where: 'client websocket on /: number of event here', stock: 1, gjallar: 0 },
    { where: 'client websocket on /: number of disconnect: io server disconnect', stock: 1, gjallar: 0 },
    { where: 'client websocket on /: number of disconnect: transport close', stock: 0, gjallar: 1 },
    { where: 'client websocket on /: order, at number 2', stock: 'event a', gjallar: 'event b' },
    { where: 'client websocket on /closed: number of connect_error: closed', stock: 1, gjallar: 0 },
    { where: 'client websocket on /closed: number of connect_error: go away', stock: 0, gjallar: 1 },
    { where: 'acknowledgements of websocket on /: 1: 3', stock: 1, gjallar: 2 },
    { where: 'acknowledgements of websocket on /: 2: 3', stock: 'answer', gjallar: 'none came' },
  ]);
}, 240_000);

test.concurrent('an application that behaves the same with Express: exit code 0, and values that are random on stock are left out', async () => {
  const { code, result, error } = await compareResult([app('express-chat.cjs'), ...chat, '--emit', 'leave']);
  expect({ code, error, differences: result.behaviour.differences }).toEqual({ code: 0, error: '', differences: [] });
  expect(result.behaviour.compared).toBeGreaterThan(100);
  expect(result.behaviour.variable).toContain('client websocket on /: 2: 3: random');
  expect(result.ways.stock).toMatch(/^stock socket\.io 4\./);
});

test.concurrent('an application that behaves the same with two namespaces, middleware and a path of its own', async () => {
  const namespaces = ['--path', '/live', '--namespace', '/', '--namespace', '/admin', '--auth', '{"token":"right"}'];
  const { code, result } = await compareResult([
    ...[app('namespaces.cjs'), ...namespaces, '--ask', 'ask all', '--ask', 'who'],
  ]);
  expect({ code, differences: result.behaviour.differences }).toEqual({ code: 0, differences: [] });
  // The middleware rejected the client that has no token, in both ways.
  expect(result.behaviour.compared).toBeGreaterThan(80);
});

test.concurrent('an application that behaves the same on two workers', async () => {
  const { code, result } = await compareResult([app('express-chat.cjs'), ...chat, '--workers', '2']);
  expect({ code, differences: result.behaviour.differences }).toEqual({ code: 0, differences: [] });
  expect(result.ways.gjallar).toMatch(/, 2 workers$/);
});

test.concurrent('an application that behaves the same of the examples, on two workers', async () => {
  const events = ['--ask', 'join,"room"', '--emit', 'say,"room","hello"', '--ask', 'count,"room"'];
  const { code, result } = await compareResult([example('several-workers'), ...events, '--workers', '2']);
  expect({ code, differences: result.behaviour.differences }).toEqual({ code: 0, differences: [] });
  expect(result.behaviour.variable).toContain('acknowledgements of websocket on /: 1: 3: worker');
});

test.concurrent('the report has the costs, and says what differs, of an application whose code fixes the port', async () => {
  const port = String(await freePort());
  const costs = ['--clients', '10', '--seconds', '1', '--rate', '100', '--messages', '2000', '--connects', '5'];
  const { code, out, error } = await runCompare([app('fixed-port.cjs'), '--ask', 'echo,1', ...costs, '--', port]);
  expect(code).toBe(0);
  expect(error).toMatch(/^(gjallar: runs \S+fixed-port\.cjs on [^\n]+\n){3}$/);
  expect(out).toMatch(/^Behaviour: no differences\. \d+ values are equal; \d+ differ between two runs on stock/m);
  for (const title of [
    'CPU per connect, µs',
    'CPU per message, µs',
    'memory with the clients, MB',
    'acknowledgement, p99, ms',
  ]) {
    expect(out).toMatch(new RegExp(`^  ${title} +\\d+(\\.\\d)? +\\d+(\\.\\d)? +\\d+\\.\\d\\d$`, 'm'));
  }
  expect(out).toMatch(/^ {2}cores at 2000 messages and 5 connects a second +\d+\.\d+ +\d+\.\d+ +\d+\.\d\d$/m);
});

test.concurrent('the steps of a driver file are played, and their differences found', async () => {
  const { code, result } = await compareResult([app('different.cjs'), '--driver', app('steps.mjs')]);
  expect(code).toBe(1);
  expect(result.steps).toBe(4);
  expect(result.behaviour.differences).toEqual([
    { where: 'acknowledgements of only on /: 1: 3', stock: 1, gjallar: 2 },
  ]);
});

test.concurrent('an application that crashes at its start on stock: exit code 2, and one line', async () => {
  const { code, out, error } = await runCompare([app('crashes.cjs'), '--json']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(error).toMatch(
    /^gjallar: \S+crashes\.cjs on stock socket\.io \S+ ended at its start with code 1: Error: no database\n$/,
  );
});

test.concurrent('an application that crashes at its start on gjallar alone: a difference', async () => {
  const { code, result } = await compareResult([app('crashes-on-gjallar.cjs')]);
  expect({ code, differences: result.behaviour.differences }).toEqual({
    code: 1,
    differences: [
      {
        where: 'the application',
        stock: 'runs',
        gjallar: expect.stringMatching(/ended at its start with code 1: Error: not here$/),
      },
    ],
  });
});

test.concurrent('an application that crashes while clients talk to it on gjallar alone: a difference', async () => {
  const { code, result } = await compareResult([app('crashes-later.cjs'), '--emit', 'crash']);
  expect(code).toBe(1);
  expect(result.behaviour.differences).toContainEqual({
    where: 'the application',
    stock: 'runs',
    gjallar: 'ended: Error: too much',
  });
});

test.concurrent('an application that crashes while clients talk to it on stock: exit code 2, and one line', async () => {
  const { code, out, error } = await runCompare([app('crashes-later.cjs'), '--json', '--emit', 'crash everywhere']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(error).toMatch(
    /^gjallar: \S+crashes-later\.cjs on stock socket\.io \S+, with this traffic, ended: code 3; what came after it .*\n$/,
  );
});

test.concurrent('an application that crashes because it never listens: exit code 2', async () => {
  const { code, error } = await runCompare([app('silent.cjs'), '--json', '--start-timeout', '1']);
  expect({ code, error }).toEqual({ code: 2, error: expect.stringMatching(/did not listen within 1 s; see --port/) });
});

test.concurrent('an application that lets nobody in without --auth: exit code 2, and the reason', async () => {
  const { code, error } = await runCompare([
    app('namespaces.cjs'),
    '--json',
    '--path',
    '/live',
    '--namespace',
    '/admin',
  ]);
  expect({ code, error }).toEqual({
    code: 2,
    error: expect.stringMatching(/namespaces\.cjs on stock .* let no client connect \(.+\); see --auth, .*\n$/),
  });
});

test('a call without a file, from the command line: exit code 2', async () => {
  const result = await runCompare([]);
  expect(result).toEqual(await callCompare([]));
  expect(result.code).toBe(2);
});

test.each([
  ['no file', [], 'it needs the file of an application'],
  ['a file that is not there', ['nothing.cjs'], 'cannot find nothing.cjs'],
  ['an unknown option', [app('crashes.cjs'), '--fast'], "Unknown option '--fast'"],
  ['a number that is none', [app('crashes.cjs'), '--rate', 'x'], '--rate must be a number from 1 to 20000, not "x"'],
  ['an event that is no JSON', [app('crashes.cjs'), '--emit', 'say,hello'], 'such as \'say,"hello"\', not "say,hello"'],
  ['an event that is reserved', [app('crashes.cjs'), '--emit', 'disconnect'], 'which Socket.IO reserves'],
  ['steps and events', [app('crashes.cjs'), '--driver', 'a', '--emit', 'a'], '--driver replaces'],
  ['a recording', [app('crashes.cjs'), '--traffic', 'a'], '--traffic was removed'],
  ['steps that are not there', [app('crashes.cjs'), '--driver', 'nothing.mjs'], '--driver: cannot load nothing.mjs'],
  ['a module without steps', [app('crashes.cjs'), '--driver', app('no-steps.mjs')], 'must export a list of steps'],
  ['a wrong step', [app('crashes.cjs'), '--driver', app('wrong-steps.mjs')], 'wrong-steps.mjs is wrong: {"do":"dance"'],
  [
    'a client that is not opened',
    [app('crashes.cjs'), '--driver', app('unopened.mjs')],
    'that no step before it opens',
  ],
  ['a value that is no JSON', [app('crashes.cjs'), '--driver', app('bigint.mjs')], 'a value that JSON cannot express'],
])('a call with %s: exit code 2', async (_name, args, message) => {
  const { code, out, error } = await callCompare(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(error).toMatch(/^gjallar: [^\n]+\n$/);
  expect(error).toContain(message);
});

test.concurrent.each(['SIGINT', 'SIGTERM'] as const)('%s ends all processes of the application', async (signal) => {
  const pids = join(folder, signal);
  const { child, ended } = startCommand(['compare', app('hangs.cjs'), '--ask', 'forever'], { PIDS: pids });
  await until(() => existsSync(pids) && readFileSync(pids, 'utf8') !== '');
  child.kill(signal);
  expect((await ended).code).toBe(signal === 'SIGINT' ? 130 : 143);
  for (const pid of readFileSync(pids, 'utf8').split(' ')) await untilGone(Number(pid));
});
