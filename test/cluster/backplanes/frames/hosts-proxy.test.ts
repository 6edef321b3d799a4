import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { roundRobin } from '../../../support/haproxy.js';
import { Hosts, whyNoHosts } from '../../../support/hosts.js';
import { RedisProcess } from '../../../support/redis.js';
import { until } from '../../../support/until.js';
import { Guests, HostedServer } from '../support/host.js';

const reason = whyNoHosts();
if (reason) console.warn(`The test of hosts behind a proxy is skipped: ${reason}`);

const SERVERS = ['first', 'second', 'third'];
/** The clients, by what they connect with. */
const kinds = { default: ['polling', 'websocket'], polling: ['polling'], websocket: ['websocket'] };

(reason ? describe.skip : describe)('three hosts with gjallar behind HAProxy without affinity', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-proxy-'));
  let hosts: Hosts;
  let redis: RedisProcess;
  let guests: Guests;
  let url: string;
  const names = Object.keys(kinds).flatMap((kind) => Array.from({ length: 10 }, (_, index) => `${kind} ${index}`));

  beforeAll(async () => {
    hosts = new Hosts([...SERVERS, 'redis', 'proxy', 'clients']);
    const on = { host: hosts.addressOf('redis'), launch: hosts.launcher('redis') };
    redis = new RedisProcess(6379, directory, on);
    await redis.start();
    const REDIS_URL = redis.url;
    const environment = { REDIS_URL, HISTORY_TTL: '0', WORKERS: '1', RATE_LIMIT: 'off' };
    await Promise.all(SERVERS.map((host) => new HostedServer(hosts, host, environment).ready));
    const file = join(directory, 'haproxy.cfg');
    const servers = SERVERS.map((host) => `${hosts.addressOf(host)}:3000`);
    writeFileSync(file, roundRobin(`${hosts.addressOf('proxy')}:3000`, servers));
    hosts.run('proxy', 'haproxy', ['-db', '-f', file], { stdio: 'ignore' });
    guests = new Guests(hosts, 'clients');
    url = `http://${hosts.addressOf('proxy')}:3000`;
    await until(() =>
      guests.get(`${url}/readyz`).then(
        () => true,
        () => false,
      ),
    );
  });

  afterAll(async () => {
    await redis?.stop();
    await hosts?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  const isAnswered = (name: string) =>
    guests.ask<unknown>(name, 'echo', name).then(
      (answer) => answer === name,
      () => false,
    );

  test('clients of every kind connect, each message is acknowledged, and those of a host that is cut off come back', async () => {
    await Promise.all(names.map((name) => guests.open(name, url, kinds[name.split(' ')[0] as keyof typeof kinds])));
    for (let round = 0; round < 20; round++) {
      expect(await Promise.all(names.map(isAnswered))).toEqual(names.map(() => true));
    }
    const heard = await Promise.all(names.map((name) => guests.heard(name)));
    expect(heard.flat().filter(([event]) => event === 'disconnect')).toEqual([]);

    hosts.cut('third');
    await Promise.all(names.map((name) => until(() => isAnswered(name))));
  });
});
