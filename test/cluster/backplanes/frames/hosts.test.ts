import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Hosts, whyNoHosts } from '../../../support/hosts.js';
import { RedisProcess } from '../../../support/redis.js';
import { readinessOf } from '../../../support/reports.js';
import { until } from '../../../support/until.js';
import { Guests, HostedServer } from '../support/host.js';

const reason = whyNoHosts();
if (reason) console.warn(`The test of three hosts is skipped: ${reason}`);

/** What a worker logs, and names in /readyz. */
const DOWN = 'Redis is unreachable: rooms and sessions do not span machines';
const UP = 'the backplane is up';

const SERVERS = ['first', 'second'] as const;
type ServerName = (typeof SERVERS)[number];

(reason ? describe.skip : describe)('two hosts with gjallar and one with Redis', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-hosts-'));
  let hosts: Hosts;
  let redis: RedisProcess;
  let servers: Record<ServerName, HostedServer>;
  let guests: Record<ServerName, Guests>;
  /** Everyone: two on each host, and one on the first host whose server is the second. */
  const everyone: [name: string, host: ServerName][] = [
    ['ann', 'first'],
    ['abe', 'first'],
    ['bea', 'second'],
    ['bob', 'second'],
    ['guest', 'first'],
  ];

  beforeAll(async () => {
    hosts = new Hosts([...SERVERS, 'redis']);
    const on = { host: hosts.addressOf('redis'), launch: hosts.launcher('redis') };
    redis = new RedisProcess(6379, directory, on);
    await redis.start();
    const REDIS_URL = redis.url;
    // Without a history, which would refuse what it cannot keep.
    const start = (host: ServerName) => new HostedServer(hosts, host, { REDIS_URL, HISTORY_TTL: '0' });
    servers = { first: start('first'), second: start('second') };
    guests = { first: new Guests(hosts, 'first'), second: new Guests(hosts, 'second') };
    await Promise.all([servers.first.ready, servers.second.ready]);
    for (const [name, host] of everyone) {
      await guests[host].open(name, servers[name === 'guest' ? 'second' : host].url);
      expect(await guests[host].ask(name, 'join', 'hall')).toMatchObject({ ok: true });
    }
    for (const host of SERVERS) await bothWorkers(host, UP);
  });

  afterAll(async () => {
    await redis?.stop();
    await hosts?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  /** What a load balancer is told: of one of the workers, whichever has the connection. */
  async function problemsOf(host: ServerName): Promise<string[]> {
    const url = `${servers[host].url}/readyz`;
    const { state, problems } = readinessOf(await guests[host].get(url));
    expect(state).toBe(problems.length > 0 ? 'degraded' : 'ready');
    return problems;
  }

  /** Waits until each of the two workers has logged the message. */
  async function bothWorkers(host: ServerName, message: string): Promise<void> {
    const workers = () => new Set(logged(host, message).map((line) => line.worker));
    await until(() => workers().size === 2);
    expect(logged(host, message)).toHaveLength(2);
  }

  function logged(host: ServerName, message: string) {
    return servers[host].log.filter(({ msg }) => msg === message);
  }

  /** Everyone hears everyone; again and again until they do, where something has just been healed. */
  async function expectOneRoom(): Promise<void> {
    for (const [speaker, host] of everyone) {
      const missing = new Set(everyone.map(([name]) => name));
      let attempts = 0;
      await until(async () => {
        await guests[host].ask(speaker, 'message', { room: 'hall', text: `${speaker} ${attempts++}` });
        for (const [name, at] of everyone) {
          const heard = await guests[at].heard(name);
          expect(heard.map(([event]) => event)).not.toContain('disconnect');
          if (heard.some(([event, value]) => event === 'message' && (value as { from: string }).from === speaker)) {
            missing.delete(name);
          }
        }
        return missing.size === 0;
      });
    }
  }

  /** Who speaks is heard on the same worker, whatever else is broken, and nobody is cut off. */
  async function expectLocalDelivery(host: ServerName): Promise<void> {
    for (const [name, at] of everyone.filter(([, at]) => at === host)) {
      for (let number = 0; number < 5; number++) {
        expect(await guests[at].ask(name, 'message', { room: 'hall', text: `alone ${number}` })).toEqual({ ok: true });
      }
      const texts: string[] = [];
      await until(async () => {
        const heard = await guests[at].heard(name);
        expect(heard.map(([event]) => event)).not.toContain('disconnect');
        for (const [, value] of heard) {
          const { from, text } = value as { from?: string; text?: string };
          if (from === name && text?.startsWith('alone')) texts.push(text);
        }
        return texts.length >= 5;
      });
      expect(texts).toEqual([0, 1, 2, 3, 4].map((number) => `alone ${number}`));
    }
  }

  async function heardElsewhere(host: ServerName): Promise<void> {
    const other = host === 'first' ? 'second' : 'first';
    const [listener] = everyone.find(([, at]) => at === other)!;
    const names = everyone.filter(([, at]) => at === host).map(([name]) => name);
    await until(async () =>
      (await guests[other].heard(listener)).some(([, value]) => {
        const { from, text } = value as { from?: string; text?: string };
        return names.includes(from ?? '') && text?.startsWith('alone');
      }),
    );
  }

  test('rooms span the hosts', async () => {
    await expectOneRoom();
    expect(await Promise.all(SERVERS.map(problemsOf))).toEqual([[], []]);
  });

  test('one host is cut off from Redis and healed', async () => {
    await expectOneRoom();
    servers.second.log.length = 0;
    hosts.cut('second');
    await bothWorkers('second', DOWN);
    expect(await problemsOf('first')).toEqual([]);
    expect(await problemsOf('second')).toEqual([DOWN]);
    await expectLocalDelivery('second');
    hosts.heal('second');
    // Each worker tells once that the bus is back and what was lost, and the hosts are one room again.
    await bothWorkers('second', UP);
    const unsent = logged('second', UP).reduce((sum, line) => sum + Number(line.unsent), 0);
    // What was said meanwhile was lost, unless the connection was mended in time to deliver it.
    if (unsent === 0) await heardElsewhere('second');
    expect(await problemsOf('second')).toEqual([]);
    await expectOneRoom();
  });
});
