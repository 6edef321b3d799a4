import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { own } from '../../../support/children.js';
import { nextEvent } from '../../../support/clients.js';
import { temporaryFolder } from '../../../support/folder.js';
import { until } from '../../../support/until.js';
import { type RunningApplication, runApp, stopAll } from '../support/application.js';
import { disconnectTalkers, reload, Talker } from '../support/talker.js';
import '../../../support/long.js';

const fault = join(temporaryFolder(), 'fault');

afterEach(disconnectTalkers);
afterAll(stopAll);

const run = (env: Record<string, string> = {}, through?: string[]) =>
  runApp('lifecycle/moving.mjs', {
    env: { GJALLAR_SOCKETS: 'portable', DRAIN_TIMEOUT: '4s', WORKERS: '1', FAULT: fault, ...env },
    ...(through && { through }),
  });

const open = (url: string, count: number, ...[options, given]: [object?, object?]) =>
  Promise.all(Array.from({ length: count }, (_, at) => new Talker(url, `user${at}`, options, given).begin()));

/** What clients say while a worker hangs must fit into what is kept for them, on a fast machine too. */
const CALM = { restMs: 100 };

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('on one application, one after the other', () => {
  let app: RunningApplication;

  beforeAll(async () => {
    app = await run();
  });

  // What goes wrong once, in lifecycle/moving.mjs: where, and with which process.
  test.each([
    ['middleware, refuse', 'the new worker does not let a client in'],
    ['middleware, hang', 'a middleware of the new worker never calls the next one'],
    ['middleware, SIGKILL', 'the new worker dies before a client is recovered'],
    ['middleware, SIGSTOP', 'the new worker hangs before a client is recovered'],
    ['connection, SIGKILL', 'the new worker dies before it reads on'],
    ['connection, SIGSTOP', 'the new worker hangs before it reads on'],
    ['later, SIGKILL', 'the new worker dies after it has got some clients'],
    ['moved, SIGKILL', 'the old worker dies before it passes a client on'],
    ['elsewhere, SIGKILL', 'the old worker dies after it has passed some clients on'],
  ])('a client whose move fails is recovered: %s: %s', async (what) => {
    const talkers = [
      ...(await open(app.url, 12, {}, CALM)),
      ...(await open(app.url, 3, { transports: ['polling'] }, CALM)),
    ];
    writeFileSync(fault, what);
    const over = reload(app);
    await until(() => talkers.some(({ disconnects }) => disconnects.length > 0));
    await over;
    await until(() => talkers.every(({ socket }) => socket.connected));
    for (const talker of talkers) {
      expect((await talker.tell()).visits.at(-1)!.recovered).toBe(true);
      talker.expectHeard();
    }
  });

  test('a listener of `disconnect` that throws keeps no client from moving', async () => {
    const talkers = await open(app.url, 6);
    writeFileSync(fault, 'moved, throw');
    await reload(app);
    for (const talker of talkers) {
      await talker.expectAll();
      expect(talker.connects).toEqual([false, true]);
      expect(talker.disconnects).toEqual([]);
    }
  });

  test('a client that is too large to move returns by itself, and the others move', async () => {
    const [other, large] = (await open(app.url, 2, { auth: { name: 'x'.repeat(60_000) } })) as [Talker, Talker];
    const namespaces = Array.from({ length: 5 }, (_, at) =>
      large.socket.io.socket(`/large${at}`, { auth: { name: 'x'.repeat(60_000) } }),
    );
    await until(() => namespaces.every(({ connected }) => connected));
    await reload(app);
    await until(() => [large.socket, ...namespaces].every(({ connected }) => connected));
    expect(large.disconnects).toEqual(['transport close']);
    expect([large.socket, ...namespaces].map(({ recovered }) => recovered)).toEqual(Array(6).fill(true));
    expect(other.disconnects).toEqual([]);
    for (const talker of [large, other]) talker.expectHeard();
    for (const namespace of namespaces) namespace.disconnect();
  });

  test('clients that end their connections in that moment leave nothing behind', async () => {
    const talkers = await open(app.url, 30);
    const leave = ({ socket }: Talker, at: number) => {
      if (at % 3 === 0) socket.io.engine.close();
      else if (at % 3 === 1) socket.disconnect();
      else (socket.io.engine.transport as unknown as { ws: { terminate(): void } }).ws.terminate();
      socket.disconnect();
    };
    const first = talkers.splice(0, 1)[0]!;
    const moved = nextEvent(first.socket, 'connect');
    const over = reload(app);
    // Some have moved by then, some are on their way, and some are still there.
    await moved;
    talkers.forEach(leave);
    await over;
    const connected = async () => {
      const stats = (await (await fetch(`${app.admin}/api/stats`)).json()) as { namespaces: Record<string, number> };
      return stats.namespaces['/'];
    };
    await until(async () => (await connected()) === 1);
    await first.expectAll();
  });

  test('a client that is stopped meanwhile has moved when it goes on', async () => {
    const code = `
      import { io } from 'socket.io-client';
      const socket = io(${JSON.stringify(app.url)}, { transports: ['websocket'] });
      const heard = {};
      let wrong = 0, ends = 0, connects = 0;
      socket.on('all', (pid, number) => {
        if (heard[pid] !== undefined && number !== heard[pid] + 1) wrong++;
        heard[pid] = number;
      });
      socket.on('disconnect', () => ends++);
      socket.on('connect', () => { connects++; console.log(JSON.stringify({ wrong, ends, connects })); });`;
    const child = own(
      spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    await once(child.stdout!, 'data');
    child.kill('SIGSTOP');
    await reload(app);
    const told = once(child.stdout!, 'data');
    child.kill('SIGCONT');
    expect(JSON.parse(String((await told)[0]))).toEqual({ wrong: 0, ends: 0, connects: 2 });
    child.kill();
  });
});

test.each(['moved, primary', 'connection, primary'])('all ends with the primary: %s', async (what) => {
  const app = await run();
  const talkers = await open(app.url, 6, { reconnection: false });
  const { pid } = (await talkers[0]!.tell()).visits[0]!;
  const ended = once(app.process, 'exit');
  writeFileSync(fault, what);
  app.process.kill('SIGHUP');
  await ended;
  await until(() => talkers.every(({ socket }) => !socket.connected));
  await until(() => !isAlive(pid));
  for (const talker of talkers) talker.expectHeard();
});

test('a new worker without descriptors gets no clients, and loses none', async () => {
  const app = await run({}, ['sh', '-c', 'ulimit -n 256; exec "$@"', 'sh']);
  const talkers = await open(app.url, 12, {}, CALM);
  writeFileSync(fault, 'later, descriptors');
  await reload(app);
  await until(() => talkers.every(({ socket }) => socket.connected));
  for (const talker of talkers) {
    expect((await talker.tell()).visits.at(-1)!.recovered).toBe(true);
    talker.expectHeard();
  }
});

test('two signals reload twice', async () => {
  const app = await run({ WORKERS: '2' });
  const talkers = await open(app.url, 10);
  app.process.kill('SIGHUP');
  app.process.kill('SIGHUP');
  const reloads = () => app.log.filter(({ msg }) => msg === 'reload finished').length;
  await app.logged(({ msg }) => msg === 'reload started');
  app.process.kill('SIGHUP');
  await until(() => reloads() === 2);
  for (const talker of talkers) {
    await talker.expectAll();
    expect(talker.disconnects).toEqual([]);
    expect(talker.connects).toEqual([false, true, true]);
  }
});

test.each([
  ['many small messages', { ahead: 500 }],
  ['more than the kernel keeps for it', { ahead: 60, padding: 65_000 }],
])('a client floods its worker while it moves: %s', async (_what, given) => {
  const app = await run({ DRAIN_TIMEOUT: '20s' });
  const [flood] = (await open(app.url, 1, {}, given)) as [Talker];
  const [other] = (await open(app.url, 1)) as [Talker];
  await reload(app);
  for (const talker of [flood, other]) {
    await talker.expectAll();
    expect(talker.disconnects).toEqual([]);
    expect(talker.connects).toEqual([false, true]);
  }
});
