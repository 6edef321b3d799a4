import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as pathOf } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import type { Backplane } from '../../src/cluster/backplanes/backplane.js';
import { toldBy } from '../../test/cluster/backplanes/support/told.js';
import { disconnectAll, type Pair, pairOn } from '../../test/io/rooms/support/clients.js';
import { startMember, type TestNode } from '../../test/io/rooms/support/node.js';
import { NatsProcess } from '../../test/support/nats.js';
import { natsAccount } from '../../test/support/nats-credentials.js';
import { copyPem } from '../../test/support/pem.js';
import { freePort } from '../../test/support/ports.js';
import { pass, until } from '../../test/support/until.js';
import { onNats } from './support.js';

type Member = TestNode & { bus: Backplane };

const MEGABYTE = 1024 * 1024;

let members: Member[] = [];
let processes: NatsProcess[] = [];
let told: string[] = [];

/** A worker that reports to `told`. */
function reporting(url: string, credentials?: string): Backplane {
  const bus = onNats(url, { credentials });
  told = toldBy(bus);
  return bus;
}

afterEach(async () => {
  disconnectAll();
  for (const member of members) await member.close();
  for (const process of processes) await process.remove();
  members = [];
  processes = [];
});

async function start(...settings: string[]): Promise<NatsProcess> {
  const nats = await NatsProcess.start(...settings);
  processes.push(nats);
  return nats;
}

/** Two workers, the first of which reports to `told`. */
async function join(url: string, credentials?: string): Promise<Pair[]> {
  members = [await startMember(reporting(url, credentials)), await startMember(onNats(url, { credentials }))];
  return Promise.all(members.map((member) => pairOn(member)));
}

/** Resolves when both workers hear each other. What they publish before NATS is up again is lost. */
async function spanned(pairs: readonly Pair[]): Promise<void> {
  const before = pairs.map(({ received }) => received.length);
  const repeat = setInterval(() => {
    for (const [index, { io }] of members.entries()) io.emit('span', index);
  }, 50);
  const isReached = ({ received }: Pair, index: number) =>
    received.slice(before[index]).some(([event, sender]) => event === 'span' && sender !== index);
  await until(() => pairs.every(isReached)).finally(() => clearInterval(repeat));
}

test('messages that are longer than max_payload arrive whole and in order', async () => {
  const nats = await start('max_payload: 4096');
  const [, other] = await join(nats.url);
  const long = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, index) => index % 251));
  for (let number = 0; number < 20; number++) members[0]!.io.emit('n', number, number % 5 === 0 ? long : 'short');
  await until(() => other!.received.length === 20);
  expect(other!.received.map(([, number]) => number)).toEqual(Array.from({ length: 20 }, (_, number) => number));
  for (const [, number, value] of other!.received) {
    expect(Number(number) % 5 === 0 ? long.equals(value as Buffer) : value === 'short').toBe(true);
  }
  expect(members.map(({ bus }) => bus.health.malformed)).toEqual([0, 0]);
  expect(told).toEqual(['up']);
});

test('a message that NATS cannot take even in parts is counted as unsent', async () => {
  const nats = await start('max_payload: 64');
  const [, other] = await join(nats.url);
  members[0]!.io.emit('too long', 'x'.repeat(64 * 70_000));
  await until(() => members[0]!.bus.health.unsent === 1);
  members[0]!.io.emit('next');
  await until(() => other!.received.length > 0);
  expect(other!.received).toEqual([['next']]);
  await until(() => members[0]!.bus.health.pendingBytes === 0);
});

test('what was sent before the end arrives, although NATS is slow to take it', async () => {
  const nats = await start();
  const [, other] = await join(nats.url);
  const [ending, stays] = members as [Member, Member];
  members = [stays];
  // More than what the system takes without NATS.
  const part = Buffer.alloc(MEGABYTE);
  nats.signal('SIGSTOP');
  for (let number = 0; number < 24; number++) ending.io.emit('part', part);
  ending.io.emit('last');
  await ending.close();
  await pass(800);
  nats.signal('SIGCONT');
  await until(() => other!.received.some(([event]) => event === 'last'));
  expect(other!.received.filter(([event]) => event === 'part')).toHaveLength(24);
  expect(ending.bus.health.unsent).toBe(0);
});

test('subjects that NATS does not allow are reported once, until it allows them', async () => {
  const permit = (publish: string, subscribe: string) =>
    `authorization { users = [ { user: chat, password: secret, permissions: { publish: "${publish}", subscribe: "${subscribe}" } } ] }`;
  const nats = await start(permit('gjallar.>', 'other.>'));
  const url = nats.url.replace('//', '//chat:secret@');
  const starting = join(url);
  await until(() => told.length > 0);
  expect(told.splice(0)).toEqual([
    expect.stringMatching(/^NATS rejects the command SUB: SUB: Permissions Violation .*"gjallar\.frames/),
  ]);
  await nats.configure(permit('gjallar.>', 'gjallar.>'));
  await nats.reload();
  const pairs = await starting;
  await until(() => told.length > 0);
  expect(told.splice(0)).toEqual(['up']);
  await spanned(pairs);

  await nats.configure(permit('other.>', 'gjallar.>'));
  await nats.reload();
  const repeat = setInterval(() => members[0]!.io.emit('lost'), 20);
  await until(() => told.length > 0 && members[0]!.bus.health.unsent > 5);
  clearInterval(repeat);
  expect(told.splice(0)).toEqual([
    expect.stringMatching(/^NATS rejects the command PUB: PUB: Permissions Violation .*"gjallar\.frames/),
  ]);
  expect(members[0]!.bus.health).toMatchObject({ isUp: false, outages: 2 });

  await nats.configure(permit('gjallar.>', 'gjallar.>'));
  await nats.reload();
  await until(() => members.every(({ bus }) => bus.health.isUp));
  expect(told).toEqual(['up']);
  await spanned(pairs);
});

test('workers go over to another server of the cluster', async () => {
  const [port, otherPort] = [await freePort(), await freePort()];
  const cluster = (own: number, other: number) =>
    `cluster { name: test, listen: "127.0.0.1:${own}", routes: ["nats://127.0.0.1:${other}"] }`;
  const first = await start(cluster(port, otherPort));
  const second = await start(cluster(otherPort, port));
  const pairs = await join(`${first.url},${second.url}`);
  await spanned(pairs);
  await first.stop();
  await until(() => members.every(({ bus }) => bus.health.isUp));
  await spanned(pairs);
  await first.start();
  await second.stop();
  await until(() => members.every(({ bus }) => bus.health.isUp));
  await spanned(pairs);
  // One of the two has moved at least once.
  expect(members.reduce((sum, { bus }) => sum + bus.health.outages, 0)).toBeGreaterThan(0);
});

test.each<[string, string[], string]>([
  ['a password', ['authorization { user: chat, password: "p@ss" }'], 'chat:p%40ss@'],
  ['a token', ['authorization { token: "to/ken" }'], 'to%2Fken@'],
])('%s in the URL is used, and a wrong one is the reason of an outage', async (_what, settings, login) => {
  const nats = await start(...settings);
  const wrong = reporting(nats.url.replace('//', '//wrong@'));
  await until(() => told.length > 0);
  expect(told).toEqual([expect.stringMatching(/^NATS rejects its login .*: .*Authorization Violation/i)]);
  expect(wrong.health.fault).toMatchObject({ code: 'BUS_UNAUTHORIZED' });
  wrong.close();
  await spanned(await join(nats.url.replace('//', `//${login}`)));
});

test('the JWT and the key of a credentials file are used', async () => {
  const { settings, credentials } = natsAccount();
  const nats = await start(...settings);
  await spanned(await join(nats.url, credentials));
});

test('tls:// requires encryption, and a certificate that is trusted', async () => {
  const plain = await start();
  const refused = reporting(plain.url.replace('nats:', 'tls:'));
  await until(() => told.length > 0);
  expect(told.splice(0)).toEqual([expect.stringMatching(/^NATS is unreachable: .*tls/i)]);
  refused.close();

  const [key, cert] = ['key', 'cert'].map((name) => pathOf(tmpdir(), `gjallar-nats-${process.pid}-${name}.pem`));
  copyPem(key!, cert!);
  try {
    const nats = await start(`tls { cert_file: "${cert}", key_file: "${key}" }`);
    const distrusting = reporting(nats.url.replace('nats://127.0.0.1', 'tls://localhost'));
    await until(() => told.length > 0);
    expect(told.splice(0)).toEqual([expect.stringMatching(/^NATS is unreachable: self-signed certificate/)]);
    distrusting.close();
  } finally {
    await Promise.all([rm(key!), rm(cert!)]);
  }
});

test('servers hear those with the same prefix only', async () => {
  const nats = await start();
  const prefixes = ['one', 'two', 'one'];
  members = await Promise.all(prefixes.map((prefix) => startMember(onNats(nats.url, { prefix }))));
  const pairs = await Promise.all(members.map((member) => pairOn(member)));
  await until(async () => (await members[0]!.io.of('/').adapter.serverCount()) === 2);
  for (const [index, { io }] of members.entries()) io.emit('from', prefixes[index]);
  await until(
    () => pairs[0]!.received.length === 2 && pairs[2]!.received.length === 2 && pairs[1]!.received.length > 0,
  );
  expect(pairs.map(({ received }) => received.map(([, prefix]) => prefix))).toEqual([
    ['one', 'one'],
    ['two'],
    ['one', 'one'],
  ]);
  expect(members.map(({ bus }) => bus.health.malformed)).toEqual([0, 0, 0]);
});
