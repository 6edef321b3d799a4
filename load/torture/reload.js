import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Announcer, answerOf } from './support/announcer.js';
import { Crowd } from './support/crowd.js';
import { progress } from './support/scenario.js';
import { Service } from './support/service.js';

const PROBES = 4;
/** How long it may take until all clients are connected again after a reload. */
const MAX_RECOVERY_MS = 30_000;

/** Rolling reloads of the chat service, with requests that each have a connection of their own. */
export async function run({ short, times = short ? 2 : 100, minutes = 60 }) {
  const drain = short ? 2 : 5;
  const service = await Service.start({ ADMIN_PORT: '0', WORKERS: '2', DRAIN_TIMEOUT: `${drain}s` });
  const clients = new Crowd();
  await clients.fill(short ? 40 : 400, () => talk(clients.add(service.url).socket));
  const ask = () => answerOf(`${service.url}/healthz`);
  const probes = Array.from({ length: PROBES }, () => new Announcer(ask, short ? 5 : 1));
  const end = Date.now() + minutes * 60_000;
  let done = 0;
  let missing = 0;
  clients.connectedAt.length = 0;
  try {
    for (; done < times && Date.now() < end; done++) {
      progress(`reload ${done + 1} of ${times}`);
      await service.reload();
      await clients.untilConnected(MAX_RECOVERY_MS);
      missing += clients.disconnected;
    }
    progress('');
  } finally {
    await Promise.all(probes.map((probe) => probe.stop()));
    clients.close();
    await service.stop();
  }
  const sumOf = (numberOf) => probes.reduce((sum, probe) => sum + numberOf(probe), 0);
  const answered = sumOf(({ confirmed }) => confirmed.size);
  const migrate = readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').trim();
  const perReload = clients.disconnects / clients.size / done;
  return [
    { name: 'reloads', value: done, least: 1 },
    { name: 'net.ipv4.tcp_migrate_req', value: migrate },
    { name: 'clients', value: clients.size },
    { name: 'clients that did not reconnect', value: missing, most: 0 },
    { name: 'disconnects per client and reload', value: Math.round(perReload * 100) / 100 },
    {
      name: 'failed connection attempts of clients',
      value: [...clients.errors.values()].reduce((sum, count) => sum + count, 0),
    },
    { name: `peak of reconnections per second, with a drain of ${drain} s`, value: peakOf(clients.connectedAt) },
    { name: 'requests on new connections', value: answered, least: 1 },
    // Without net.ipv4.tcp_migrate_req, closing a listen socket resets the connections that wait in its queue.
    {
      name: 'failed requests on new connections',
      value: sumOf(({ unconfirmed }) => unconfirmed.size),
      most: migrate === '1' ? 0 : Math.ceil(answered / 1000),
    },
  ];
}

/** Asks for echoes for as long as it is connected or returns. */
async function talk(socket) {
  while (socket.active || socket.connected) {
    await sleep(500 * (0.5 + Math.random()));
    // What the end of a connection leaves unanswered is rejected by socket.io-client.
    if (socket.connected) await socket.emitWithAck('echo', 1).catch(() => undefined);
  }
}

/** The most events within a second. */
function peakOf(times) {
  let peak = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while (times[last] - times[first] > 1000) first++;
    peak = Math.max(peak, last - first + 1);
  }
  return peak;
}
