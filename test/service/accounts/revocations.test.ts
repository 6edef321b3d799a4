import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import Sqlite from 'libsql';
import { Problems } from '../../../src/base/problems.js';
import { createStateRoom } from '../../../src/features/state/index.js';
import { Server } from '../../../src/index.js';
import type { RevocationRecord } from '../../../src/service/accounts/revocation-record.js';
import { sqliteRevocations } from '../../../src/service/accounts/revocation-stores.js';
import { MAX_REVOCATIONS, RevokedTokens } from '../../../src/service/accounts/revocations.js';
import { connect, connected, disconnectAll, nextEvent } from '../../support/clients.js';
import { movableClock } from '../../support/clock.js';
import { temporaryFolder } from '../../support/folder.js';
import { readinessOf } from '../../support/reports.js';
import { startServiceHere as startServer } from '../../support/service-here.js';
import { SECRET, tokenOf } from '../../support/tokens.js';
import { pass } from '../../support/until.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  disconnectAll();
  for (const end of ends.splice(0).reverse()) await end();
});

function newFolder(): string {
  const folder = temporaryFolder();
  return folder;
}

test('a full list takes no further revocation, until one is lifted; one that it has can be repeated', async () => {
  const folder = newFolder();
  const store = sqliteRevocations(folder);
  await store.read();
  const expires = Date.now() + 60_000;
  const database = new Sqlite(join(folder, 'revocations.db'));
  const add = database.prepare('INSERT INTO revocations VALUES (?, ?)');
  database.transaction(() => {
    for (let i = 0; i < MAX_REVOCATIONS; i++) add.run([`jti:${i}`, JSON.stringify({ id: `jti:${i}`, at: 1, expires })]);
  })();
  database.close();

  const room = createStateRoom<RevocationRecord>(new Server(), 'revoked', { maxKeys: 4 * MAX_REVOCATIONS });
  const reports = { log: { error: () => {}, info: () => {} }, problems: new Problems() };
  const tokens = new RevokedTokens(store, room, reports as never, () => {});
  ends.push(
    () => room.close(),
    () => tokens.close(),
  );
  const further = { id: 'user:ann', before: Date.now(), at: Date.now(), expires };
  await expect(tokens.revoke(further)).rejects.toMatchObject({ code: 'REVOCATIONS_FULL' });
  expect(tokens.isRevoked({ name: 'ann', tokenId: undefined, issued: 0 })).toBe(false);
  await tokens.revoke({ id: 'jti:7', at: Date.now(), expires });
  await tokens.lift('jti:8');
  await tokens.revoke(further);
  expect(tokens.isRevoked({ name: 'ann', tokenId: undefined, issued: 0 })).toBe(true);
});

test('a worker waits while another one makes the file, and while it writes, without blocking its clients', async () => {
  const folder = newFolder();
  const other = new Sqlite(join(folder, 'revocations.db'));
  ends.push(() => other.close());
  const store = sqliteRevocations(folder);
  ends.push(() => store.close?.());
  const change = ['jti:1', JSON.stringify({ id: 'jti:1', at: 1, expires: Date.now() + 60_000 })] as const;
  for (const use of [() => store.read(), () => store.change(new Map([change]), [])]) {
    other.exec('BEGIN EXCLUSIVE');
    const used = use();
    await pass(20);
    other.exec('COMMIT');
    await used;
  }
  expect((await store.read()).get('jti:1')).toBe(change[1]);
});

test('a file that is gone, older or copied at a start is reported, and still by the next start', async () => {
  const start = async (folder: string) => {
    const room = createStateRoom<RevocationRecord>(new Server(), 'revoked', { maxKeys: 4 * MAX_REVOCATIONS });
    const problems = new Problems();
    const told: unknown[] = [];
    const log = { error: ({ code }: { code: string }) => told.push(code), info: () => {} };
    const tokens = new RevokedTokens(sqliteRevocations(folder), room, { log, problems } as never, () => {});
    const close = () => {
      tokens.close();
      room.close();
    };
    ends.push(close);
    await tokens.read();
    return { tokens, told, shown: problems.down.map(({ code }) => code), close };
  };
  const revocation = (user: string) => ({ id: `user:${user}`, before: 1, at: 1, expires: Date.now() + 60_000 });
  const copy = (from: string, to: string, fits: RegExp) => {
    for (const name of readdirSync(from)) if (fits.test(name)) cpSync(join(from, name), join(to, name));
  };
  const LOST = 'REVOCATIONS_LOST';
  const [old, emptied, restored, copied] = [newFolder(), newFolder(), newFolder(), newFolder()];

  const first = await start(old);
  await first.tokens.revoke(revocation('ann'));
  first.close();
  const again = await start(old);
  expect([first, again].map(({ shown, told }) => [shown, told])).toEqual([
    [[], []],
    [[], []],
  ]);
  again.close();

  copy(old, emptied, /-position$/);
  const lost = await start(emptied);
  await lost.tokens.revoke(revocation('bob'));
  lost.close();
  const later = await start(emptied);
  expect([lost, later].map(({ shown, told }) => [shown, told])).toEqual([
    [[LOST], [LOST]],
    [[LOST], []],
  ]);
  later.close();

  copy(old, restored, /\.db/);
  copy(emptied, restored, /-position$/);
  copy(old, copied, /\.db/);
  for (const folder of [restored, copied]) {
    const { shown, told, tokens } = await start(folder);
    expect([shown, told, tokens.list().map(({ id }) => id)]).toEqual([[LOST], [LOST], ['user:ann']]);
    tokens.close();
  }
});

test('a token from the future does not escape the revocation of its user', async () => {
  const operator = { ADMIN_USER: 'ops', ADMIN_PASSWORD: 'open sesame' };
  const server = await startServer({ JWT_SECRET: SECRET, WORKERS: '1', ...operator });
  ends.push(() => server.stop());
  const enter = async (sub: string, ahead: number) => {
    const token = await tokenOf({ sub }, { age: -ahead, expires: '3h' });
    return connect(server.url, { auth: { token }, reconnection: false });
  };
  const clients = await Promise.all([enter('ann', 3600), enter('ann', 30)]);
  const bob = await enter('bob', 3600);
  await Promise.all([...clients, bob].map(connected));
  const ended = Promise.all(clients.map((client) => nextEvent(client, 'ended')));
  const revoked = await fetch(`${server.url}/api/tokens/revoke`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa('ops:open sesame')}` },
    body: JSON.stringify({ user: 'ann' }),
  });
  expect(revoked.status).toBe(200);
  expect(await ended).toMatchObject([[{ code: 'TOKEN_REVOKED' }], [{ code: 'TOKEN_REVOKED' }]]);
  const [error] = await nextEvent<[Error & { data?: unknown }]>(await enter('ann', 3600), 'connect_error');
  expect(error.data).toMatchObject({ code: 'TOKEN_REVOKED' });
  expect(bob.connected).toBe(true);
  await connected(await enter('bob', 3600));
  await connected(await enter('ann', 2));
});

test('while the list could never be read, no token is accepted, and the cause has a name', async () => {
  const folder = newFolder();
  const file = join(folder, 'revocations.db');
  writeFileSync(file, 'no database '.repeat(1000), { mode: 0o600 });
  const server = await startServer({ JWT_SECRET: SECRET, DATA_DIR: folder, WORKERS: '1' });
  ends.push(() => server.stop());
  const clock = movableClock();
  const problem = 'the revoked tokens cannot be read: no token is accepted';
  expect(await server.logged(({ msg }) => msg === problem)).toMatchObject({ level: 'error' });
  const ready = await fetch(`${server.url}/readyz`);
  expect([ready.status, readinessOf(await ready.json())]).toMatchObject([503, { problems: [problem] }]);

  const auth = { token: await tokenOf({ sub: 'ann' }) };
  const [error] = await nextEvent<[Error & { data?: unknown }]>(connect(server.url, { auth }), 'connect_error');
  expect(error.data).toMatchObject({ code: 'ACCOUNTS_UNAVAILABLE' });

  rmSync(file);
  await clock.until(async () => (await fetch(`${server.url}/readyz`)).ok);
  await connected(connect(server.url, { auth }));
});
