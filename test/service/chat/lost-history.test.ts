import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, disconnectAll, expectOk } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { RedisProcess, until } from '../../support/redis.js';
import { readinessOf } from '../../support/reports.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { eventually } from '../../support/until.js';

const operator = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'secret', API_KEY: 'key' };
const authorization = `Basic ${Buffer.from('ops:secret').toString('base64')}`;
const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  disconnectAll();
  for (const end of ends.splice(0).reverse()) await end();
});

/** The answers of as many requests as it usually takes to reach all workers. */
async function problemsOf(server: RunningServer): Promise<string[]> {
  const answers = Array.from({ length: 12 }, async () => {
    const response = await fetch(`${server.url}/readyz`, { headers: { Connection: 'close' } });
    return readinessOf(await response.json()).problems;
  });
  return (await Promise.all(answers)).map((problems) => problems.filter((one) => /has lost/.test(one)).join());
}

async function metricsOf({ url }: RunningServer): Promise<string> {
  return (await fetch(`${url}/metrics`, { headers: { Authorization: authorization } })).text();
}

async function post(server: RunningServer, text: string): Promise<number> {
  const body = JSON.stringify({ text });
  const headers = { Authorization: 'Bearer key' };
  return (await fetch(`${server.url}/api/rooms/hall/messages`, { method: 'POST', headers, body })).status;
}

const acknowledge = (server: RunningServer, headers: Record<string, string> = { Authorization: authorization }) =>
  fetch(`${server.url}/api/acknowledge-loss`, { method: 'POST', headers });

describe('the operator is told that messages were lost', () => {
  test('by an emptied Redis, on all machines, until it is acknowledged on one', async () => {
    const redis = await RedisProcess.start();
    ends.push(() => redis.remove());
    const servers = await Promise.all(
      // Several workers of one machine, and one of another.
      ['2', '1'].map((WORKERS) => startServer({ ...operator, REDIS_URL: redis.url, WORKERS })),
    );
    for (const server of servers) ends.push(() => server.stop());
    const [first, second] = servers as [RunningServer, RunningServer];
    // One worker has a member that has received something, and reads its room once Redis is back.
    const client = connect(first.url);
    const heard: string[] = [];
    client.on('message', ({ text }) => heard.push(text));
    expectOk(await client.emitWithAck('join', 'hall'));
    expect(await post(first, 'lost')).toBe(200);
    await until(() => heard.length === 1);
    await redis.stop();
    await redis.start();
    const problem = 'Redis has lost messages that it had confirmed';
    for (const server of servers) {
      await server.logged(({ msg }) => msg === problem);
      await until(async () => (await problemsOf(server)).every((one) => one === problem));
    }
    await eventually(async () => {
      const metrics = (await Promise.all(servers.map(metricsOf))).join('\n');
      expect(metrics).toMatch(/gjallar_history_losses_total [1-9]/);
    });
    expect((await acknowledge(second, {})).status).toBe(401);
    expect(await (await acknowledge(second)).json()).toEqual({ ok: true });
    for (const server of servers) {
      await server.logged(({ msg }) => msg === `over: ${problem}`);
      await until(async () => (await problemsOf(server)).every((one) => one === ''));
    }
    await second.logged(({ msg, action }) => msg === 'the operator acted' && action === 'acknowledge-loss');
  });

  test('by a file that is removed, while the server is stopped and while it runs', async () => {
    const folder = temporaryFolder();
    const server = await startServer({ ...operator, DATA_DIR: folder, WORKERS: '1' });
    ends.push(() => server.stop());
    expect(await post(server, 'one')).toBe(200);
    const client = connect(server.url);
    const { tag } = expectOk(await client.emitWithAck('join', 'hall'));
    const problem = 'DATA_DIR has lost messages that it had confirmed';
    renameSync(join(folder, 'history.db'), join(folder, 'moved.db'));
    expect(await post(server, 'to a file that is gone')).toBe(200);
    await server.logged(({ msg }) => msg === problem);
    expect(await post(server, 'no more')).toBe(503);
    for (const name of ['history.db-wal', 'history.db-shm']) rmSync(join(folder, name), { force: true });
    const lines = server.log.length;
    await server.restart();
    await until(() => server.log.slice(lines).some(({ msg }) => msg === problem));
    await until(async () => (await problemsOf(server)).every((one) => one === problem));
    expect(await post(server, 'again')).toBe(200);
    const page = expectOk(await connect(server.url).emitWithAck('history', { room: 'hall', tag: tag!, after: 1 }));
    expect(page).toMatchObject({ complete: false, lost: true, offset: 1, after: 0 });
    await acknowledge(server);
    await until(async () => (await problemsOf(server)).every((one) => one === ''));
  });
});
