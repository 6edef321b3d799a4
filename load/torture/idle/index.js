import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuOf } from '../../harness/process/processes.js';
import { Hosted } from '../support/hosted.js';
import { progress, randomFrom } from '../support/scenario.js';
import { ReusingProxy } from './proxy.js';
import { sendMany, sendRarely, Tally } from './requests.js';

export const about =
  'HAProxy reuses connections that have been idle for 10 s: requests that fail, and what new ones cost';

export const options = {
  'times n': 'number of requests beside those on idle connections (100,000; 400 with --short)',
  'minutes n': 'how long there are requests on idle connections (5; 0.4 with --short)',
};

export const more = `

  Runs an application under gjallar run, first with KEEP_ALIVE=on, to show what would go wrong, and then with its default. Each
  of 200 clients sends a request every 9.9 to 10.1 s through HAProxy, which keeps connections for a minute. Meanwhile, the
  application is busy for 200 ms now and then, so that requests arrive in the moment in which it closes connections.
  Needs: haproxy.`;

const app = fileURLToPath(new URL('app.mjs', import.meta.url));
const IDLE_CLIENTS = 200;
const OTHER_CLIENTS = 32;
const BUSY_EVERY_MS = 500;

export async function run({ short, seed, times = short ? 400 : 100_000, minutes = short ? 0.4 : 5 }) {
  const settings = { seed, times, minutes, clients: short ? 40 : IDLE_CLIENTS };
  const kept = await tryMode('on', settings);
  const ended = await tryMode('auto', settings);
  progress('');
  return [
    { name: 'requests', value: ended.idle.requests + ended.others.requests, least: times },
    { name: 'of these, about 10 s after the one before', value: ended.idle.requests, least: 1 },
    { name: 'failed', value: ended.idle.errors + ended.others.errors, most: 0 },
    ...describe(ended),
    { name: 'failed with KEEP_ALIVE=on, for comparison', value: kept.idle.errors + kept.others.errors },
    ...describe(kept),
    { name: 'CPU of the worker per request', value: rounded(ended.cpu), unit: 'µs' },
    { name: 'the same with KEEP_ALIVE=on', value: rounded(kept.cpu), unit: 'µs' },
    { name: 'ratio', value: rounded(ended.cpu / kept.cpu) },
  ];
}

async function tryMode(mode, { seed, times, minutes, clients }) {
  const hosted = await Hosted.start({
    workers: 1,
    app,
    environment: { KEEP_ALIVE: mode, MAX_CONNECTIONS_PER_IP: '0' },
  });
  const proxy = await ReusingProxy.start(hosted.url);
  const ended = new AbortController();
  try {
    progress(`KEEP_ALIVE=${mode}: CPU`);
    const others = new Tally();
    const cpu = await cpuPerRequest(hosted, others, { port: proxy.shared, clients: OTHER_CLIENTS, times: times / 2 });
    progress(`KEEP_ALIVE=${mode}: idle connections`);
    const idle = new Tally();
    const stop = setTimeout(() => ended.abort(), minutes * 60_000);
    await Promise.all([
      sendRarely(idle, { port: proxy.own, clients, random: randomFrom(seed), signal: ended.signal }),
      sendMany(others, { port: proxy.shared, clients: OTHER_CLIENTS, times: times / 2 }),
      keepBusy(hosted.url, ended.signal),
    ]);
    clearTimeout(stop);
    return { mode, idle, others, cpu };
  } finally {
    ended.abort();
    await proxy.stop();
    await hosted.stop();
  }
}

/** In µs. */
async function cpuPerRequest(hosted, tally, options) {
  const [{ pid }] = await hosted.workers();
  // So that what is measured is compiled.
  await sendMany(tally, { ...options, times: Math.ceil(options.times / 5) });
  const before = cpuOf(pid);
  await sendMany(tally, options);
  return (cpuOf(pid) - before) / options.times;
}

async function keepBusy(url, signal) {
  while (!signal.aborted) {
    await fetch(`${url}/busy`);
    await sleep(BUSY_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

const describe = ({ mode, idle, others }) =>
  [idle, others].flatMap(({ failures }) =>
    [...failures].map(([what, count]) => ({ name: `KEEP_ALIVE=${mode}`, value: `${count} × ${what}` })),
  );

const rounded = (number) => Math.round(number * 100) / 100;
