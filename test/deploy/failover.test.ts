import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { connect, disconnectAll, expectOk } from '../support/clients.js';
import { temporaryFolder } from '../support/folder.js';
import { freePort } from '../support/ports.js';
import { RedisProcess, until } from '../support/redis.js';
import { startServer } from '../support/server.js';
import { read as textOf } from './support.js';

const folder = temporaryFolder();
const ends: (() => unknown)[] = [];
afterAll(async () => {
  disconnectAll();
  for (const end of ends.reverse()) await end();
});

/** The configuration of the guide, with ports of this machine. */
function startProxy(port: number, servers: readonly RedisProcess[]): ChildProcess {
  const [, config = ''] =
    /```text\n((?:(?!```)[\s\S])*listen redis\n[\s\S]*?)```/.exec(textOf('docs/operations/redis.md')) ?? [];
  const file = join(folder, 'haproxy.cfg');
  const pairs = [
    ['bind :6379', `bind 127.0.0.1:${port}`],
    ...servers.map((one, at) => [`redis-${at + 1}:6379`, `127.0.0.1:${one.port}`]),
  ];
  writeFileSync(
    file,
    pairs.reduce((text, [from, to]) => {
      expect(text).toContain(from);
      return text.replace(from!, to!);
    }, config),
  );
  const env = { PATH: `${process.env.PATH}:/usr/sbin` };
  return spawn('haproxy', ['-db', '-f', file], { env, stdio: 'ignore' });
}

test('a failover of Redis behind HAProxy keeps the clients, and messages are accepted again', async () => {
  const master = await RedisProcess.start();
  ends.push(() => master.remove());
  const replica = await RedisProcess.start(
    '--replicaof',
    `127.0.0.1 ${master.port}`,
    '--repl-diskless-sync-delay',
    '0',
  );
  ends.push(() => replica.remove());
  const control = new Redis(replica.port, '127.0.0.1');
  ends.push(() => control.disconnect());
  await until(async () => (await control.info('replication')).includes('master_link_status:up'));
  const port = await freePort();
  const proxy = startProxy(port, [master, replica]);
  ends.push(async () => {
    proxy.kill('SIGKILL');
    if (proxy.exitCode === null) await once(proxy, 'exit');
  });

  const server = await startServer({ REDIS_URL: `redis://127.0.0.1:${port}`, WORKERS: '2', DRAIN_TIMEOUT: '0' });
  ends.push(() => server.stop());
  const state = async () => ((await (await fetch(`${server.url}/readyz`)).json()) as { state: string }).state;
  await until(async () => (await state()) === 'ready');
  const clients = await Promise.all([connect(server.url), connect(server.url)]);
  const lost: string[] = [];
  // The clients may be on two workers, of which one is ready later.
  for (const client of clients) {
    client.on('disconnect', (reason) => lost.push(reason));
    await until(async () => (await client.emitWithAck('join', 'hall')).ok === true);
  }
  // Until HAProxy has checked it, the replica gets connections too.
  await until(async () => (await clients[0]!.emitWithAck('message', { room: 'hall', text: 'before' })).ok === true);
  const source = new Redis(master.port, '127.0.0.1');
  const [, written] = /master_repl_offset:(\d+)/.exec(await source.info('replication'))!;
  source.disconnect();
  await until(async () => {
    const [, replicated] = /slave_repl_offset:(\d+)/.exec(await control.info('replication'))!;
    return Number(replicated) >= Number(written);
  });

  await master.stop();
  // What Sentinel does.
  await control.call('REPLICAOF', 'NO', 'ONE');
  const refusals: string[] = [];
  await until(async () => {
    const answer = await clients[0]!.emitWithAck('message', { room: 'hall', text: 'after' });
    if (!answer.ok) refusals.push(answer.code);
    return answer.ok === true;
  });
  await until(async () => (await state()) === 'ready');
  // They find out one after the other, too.
  const read = () => clients[1]!.emitWithAck('history', { room: 'hall', after: 0, limit: 10 });
  await until(async () => (await read()).ok === true);
  const { messages } = expectOk(await read()) as unknown as { messages: { text: string }[] };
  const [first, ...others] = messages.map(({ text }) => text);
  expect(first).toBe('before');
  expect(new Set(others)).toEqual(new Set(['after']));
  // Only a post without a certain answer may be stored beside the accepted one.
  const uncertain = refusals.filter((code) => code === 'HISTORY_UNCERTAIN');
  expect(others.length).toBeLessThanOrEqual(1 + uncertain.length);
  expect(lost).toEqual([]);
});
