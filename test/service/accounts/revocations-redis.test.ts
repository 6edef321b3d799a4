import { afterEach, expect, test } from '@jest/globals';
import { connect, connected, disconnectAll } from '../../support/clients.js';
import { RedisProcess } from '../../support/redis.js';
import { readiness } from '../../support/reports.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { SECRET, tokenOf } from '../../support/tokens.js';
import { until } from '../../support/until.js';

const LOST = 'the list of revoked tokens was lost: workers write back what they know, and revocations may be missing';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  disconnectAll();
  for (const end of ends.splice(0).reverse()) await end();
});

const tokenFor = (sub: string) => tokenOf({ sub, jti: `token of ${sub}` }, { age: 10 });

async function startOn(redis: RedisProcess): Promise<RunningServer> {
  const environment = { REDIS_URL: redis.url, JWT_SECRET: SECRET, ADMIN_USER: 'ops', ADMIN_PASSWORD: 'open sesame' };
  const server = await startServer({ ...environment, WORKERS: '1' });
  ends.push(() => server.stop());
  return server;
}

const readyz = ({ url }: RunningServer) => readiness(url);

/** Why a client with this token may not connect. */
async function refusal({ url }: RunningServer, token: string): Promise<unknown> {
  const client = connect(url, { auth: { token }, reconnection: false });
  return connected(client).then(
    // It may not have heard of the revocation yet, and after its start, it waits only 2 s for the lists of others.
    () => 'accepted',
    (error: Error & { data?: { code?: string } }) => error.data?.code,
  );
}

test('a Redis that returns empty, twice, makes no revoked token valid, not even where a server restarts meanwhile', async () => {
  const redis = await RedisProcess.start();
  ends.push(() => redis.remove());
  const [here, there] = await Promise.all([startOn(redis), startOn(redis)]);
  await Promise.all([here, there].map((server) => until(async () => (await fetch(`${server.url}/readyz`)).ok)));
  const token = await tokenFor('ann');
  await connected(connect(there.url, { auth: { token } }));
  const headers = { Authorization: `Basic ${btoa('ops:open sesame')}` };
  const body = JSON.stringify({ jti: 'token of ann' });
  const revoked = await fetch(`${here.url}/api/tokens/revoke`, { method: 'POST', headers, body });
  expect(revoked.status).toBe(200);
  await until(async () => (await refusal(there, token)) === 'TOKEN_REVOKED');

  for (const round of [1, 2]) {
    await redis.stop();
    await until(async () => (await readyz(here)).problems.some((one) => one.startsWith('Redis is unreachable')));
    const restarted = round === 2 && there.restart();
    await redis.start();
    await restarted;
    await until(() => here.log.filter(({ msg, level }) => msg === LOST && level === 'error').length === round);
    await until(() => fetch(`${there.url}/readyz`).then(({ ok }) => ok));
    for (const server of [here, there]) expect(await refusal(server, token)).toBe('TOKEN_REVOKED');
    expect((await readyz(here)).problems).toContain(LOST);
    await here.logged(({ msg }) => msg === 'the list of revoked tokens was written back');
    expect(await (await fetch(`${here.url}/metrics`, { headers })).text()).toContain(
      `{code="REVOCATIONS_LOST",text="${LOST}"`,
    );
    await connected(connect(there.url, { auth: { token: await tokenFor('bob') } }));
  }
});
