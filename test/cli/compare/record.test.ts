import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { nextEvent } from '../../support/clients.js';
import { freePort } from '../../support/ports.js';
import { until } from '../../support/until.js';
import { app, callCompare, compareResult, startCommand } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'gjallar-record-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.disconnect();
});

const SECRET = 'hunter2';

/** Starts an application under `gjallar record`, until it answers. */
async function startRecording(name: string, out: string, ...args: string[]) {
  const port = await freePort();
  const command = ['record', app(name), '--out', out, ...args];
  return recording(startCommand(command, { PORT: String(port) }), port);
}

async function recording({ child, ended, errors }: ReturnType<typeof startCommand>, port: number) {
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/socket.io/`).catch(() => undefined)) !== undefined);
  const connect = async (path = '', options: object = {}) => {
    const socket = io(url + path, { forceNew: true, reconnection: false, ...options });
    sockets.push(socket);
    await nextEvent(socket as never, 'connect');
    return socket;
  };
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { url, connect, stop, errors };
}

const stepsOf = (file: string) =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line));

test('what clients send is written without secrets, and plays against stock and gjallar', async () => {
  const out = join(folder, 'traffic.jsonl');
  const { url, connect, stop, errors } = await startRecording('express-chat.cjs', out);
  expect(errors()).toMatch(/records what its clients send to \S+ \(mode 0600, at most 16777216 bytes\)/);
  expect(statSync(out).mode & 0o777).toBe(0o600);
  const cookie = { Cookie: `connect.sid=${SECRET}`, Authorization: `Bearer ${SECRET}` };
  await fetch(`${url}/api?token=${SECRET}&a=1`, { headers: cookie });
  const first = await connect('', {
    ...{ transports: ['websocket'], auth: { token: SECRET, user: 'anna' }, query: { room: 'a', apiKey: SECRET } },
    extraHeaders: cookie,
  });
  const second = await connect();
  await until(() => second.io.engine.transport.name === 'websocket');
  const said = nextEvent(second as never, 'said');
  first.emit('say', 'hello');
  await said;
  expect(await first.emitWithAck('echo', 1, { password: SECRET })).toEqual(1);
  await first.emitWithAck('echo', Buffer.from(SECRET));
  const left = nextEvent(first as never, 'disconnect');
  first.emit('leave');
  await left;
  second.disconnect();
  await until(() => stepsOf(out).filter((step) => step.do === 'close').length === 2);
  const { code, error } = await stop();
  expect(code).toBe(143);
  expect(error).toMatch(/recorded \d+ steps of 2 clients and 1 requests to \S+, and left out \d+ secrets\n$/);

  const text = readFileSync(out, 'utf8');
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain(Buffer.from(SECRET).toString('base64'));
  const steps = stepsOf(out).map(({ at: _at, client: _client, ...step }) => step);
  const removed = expect.stringMatching(/^removed-[0-9a-f]{12}$/);
  expect(steps).toEqual(
    expect.arrayContaining([
      { do: 'request', method: 'GET', path: expect.stringMatching(/^\/api\?token=removed-[0-9a-f]{12}&a=1$/) },
      { do: 'open', transport: 'websocket', query: { room: 'a', apiKey: removed } },
      { do: 'connect', namespace: '/', auth: 'removed' },
      { do: 'connected', namespace: '/' },
      { do: 'open', transport: 'polling' },
      { do: 'connect', namespace: '/' },
      { do: 'upgrade' },
      { do: 'emit', namespace: '/', event: 'say', args: ['hello'] },
      { do: 'emit', namespace: '/', event: 'echo', args: [1, { password: removed }], ack: true },
      { do: 'emit', namespace: '/', event: 'echo', args: [{ $bytes: SECRET.length }], ack: true },
      { do: 'leave', namespace: '/' },
    ]),
  );

  const { code: compared, result } = await compareResult([app('express-chat.cjs'), '--traffic', out, '--speed', '2']);
  expect({ compared, differences: result.behaviour.differences }).toEqual({ compared: 0, differences: [] });
  expect(result.behaviour.compared).toBeGreaterThan(10);
});

test('a difference shows in recorded traffic', async () => {
  const out = join(folder, 'different.jsonl');
  const { connect, stop } = await startRecording('different.cjs', out);
  const client = await connect('', { transports: ['websocket'] });
  await client.emitWithAck('value');
  client.disconnect();
  await until(() => stepsOf(out).some((step) => step.do === 'close'));
  await stop();
  const { code, result } = await compareResult([app('different.cjs'), '--traffic', out]);
  expect(code).toBe(1);
  expect(result.behaviour.differences).toEqual([
    { where: expect.stringMatching(/^acknowledgements of \S+ on \/: 1: 3$/), stock: 1, gjallar: 2 },
  ]);
});

test('the file stays within --max-bytes, and holds whole steps', async () => {
  const out = join(folder, 'full.jsonl');
  const { connect, stop, errors } = await startRecording('express-chat.cjs', out, '--max-bytes', '2048');
  const client = await connect();
  for (let number = 0; number < 100; number++) await client.emitWithAck('echo', `number ${number}`);
  await until(() => errors().includes('recording stopped'));
  // The application goes on.
  expect(await client.emitWithAck('echo', 'still here')).toBe('still here');
  await stop();
  expect(statSync(out).size).toBeLessThanOrEqual(2048);
  expect(stepsOf(out).length).toBeGreaterThan(5);
});

test('a file that cannot be written ends the recording, and not the application', async () => {
  const out = join(folder, 'failed.jsonl');
  const port = await freePort();
  // Files of this process can have 2 or 4 KiB: what does not fit is written in part, and then not at all.
  const limited = ['-c', 'ulimit -f 4 && exec "$0" "$@"', process.execPath];
  const command = startCommand(['record', app('express-chat.cjs'), '--out', out], { PORT: String(port) }, limited);
  const { connect, stop, errors } = await recording(command, port);
  const client = await connect();
  for (let number = 0; number < 100; number++) await client.emitWithAck('echo', `number ${number}`);
  await until(() => errors().includes('recording stopped'));
  expect(errors()).toMatch(/recording stopped: cannot write \S+ \(EFBIG.*\); the application goes on\n/);
  expect(await client.emitWithAck('echo', 'still here')).toBe('still here');
  const { code, error } = await stop();
  expect(code).toBe(143);
  expect(error.match(/recording stopped|recorded \d/g)).toHaveLength(1);
  expect(readFileSync(out, 'utf8')).toMatch(/\}\n$/);
  expect(stepsOf(out).length).toBeGreaterThan(5);
});

test('a file that exists is not replaced', async () => {
  const out = join(folder, 'exists');
  writeFileSync(out, 'precious');
  const { code, error } = await startCommand(['record', app('express-chat.cjs'), '--out', out]).ended;
  expect({ code, error }).toEqual({ code: 2, error: expect.stringMatching(/^gjallar: record: \S+ exists; remove it/) });
  expect(readFileSync(out, 'utf8')).toBe('precious');
});

test('an application that crashes ends with its own exit code', async () => {
  const { code, error } = await startCommand(['record', app('crashes.cjs'), '--out', join(folder, 'crash')]).ended;
  expect(code).toBe(1);
  expect(error).toContain('Error: no database');
});

test.each([
  ['no JSON', 'at 12'],
  ['a step that is unknown', '{"at":1,"client":"a","do":"format"}'],
  ['a request to another host', '{"at":1,"do":"request","method":"GET","path":"http://example.com/"}'],
  ['a request with a line of its own', '{"at":1,"do":"request","method":"GET","path":"/ HTTP/1.1\\r\\nHost: a"}'],
  ['an unknown transport', '{"at":1,"client":"b","do":"open","transport":"pigeon"}'],
  ['a reserved event', '{"at":1,"client":"a","do":"emit","namespace":"/","event":"connect","args":[]}'],
  ['an event without arguments', '{"at":1,"client":"a","do":"emit","namespace":"/","event":"a"}'],
])('a file with %s is named with its line: exit code 2', async (_name, line) => {
  const file = join(folder, 'bad.jsonl');
  writeFileSync(file, '{"gjallar":"traffic","version":1}\n{"at":0,"client":"a","do":"open","transport":"websocket"}\n');
  appendFileSync(file, `${line}\n`);
  const { code, error } = await callCompare([app('crashes.cjs'), '--traffic', file]);
  expect({ code, error }).toEqual({ code: 2, error: expect.stringContaining('line 3 of') });
});
