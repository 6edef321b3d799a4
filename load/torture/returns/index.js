import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { io } from 'socket.io-client';
import { numberOption } from '../../harness/command.js';
import { own } from '../../harness/process/at-exit.js';
import { until } from '../../harness/until.js';
import { Hosted } from '../support/hosted.js';
import { progress } from '../support/scenario.js';

export const about = 'clients on polling whose worker is killed: how long until they are back, and where the time goes';

export const options = {
  'times n': 'number of kills (6; 2 with --short)',
  'clients n': 'clients, all on polling (60; 15 with --short)',
  'busy n': 'processes that compute meanwhile, so that the machine is busy (0)',
};

export const parameters = { clients: { type: 'string' }, busy: { type: 'string' } };

const app = fileURLToPath(new URL('../deaths/app.mjs', import.meta.url));
const WORKERS = 3;
/** What 95% of the clients may wait beyond the delay of socket.io-client, in ms. */
const MAX_WAIT_MS = 2000;

/** @throws UsageError */
export function check(values) {
  numberOption(values, 'clients');
  numberOption(values, 'busy');
}

export async function run({ short, times = short ? 2 : 6, own: given = {} }) {
  const clients = numberOption(given, 'clients') ?? (short ? 15 : 60);
  const busy = numberOption(given, 'busy') ?? 0;
  const hosted = await Hosted.start({ app, workers: WORKERS });
  const computing = Array.from({ length: busy }, () => own(spawn(process.execPath, ['-e', 'for (;;);'])));
  const crowd = Array.from({ length: clients }, () => new Client(hosted.url));
  try {
    await until(() => crowd.every((client) => client.isConnected), 'not all clients connect');
    for (let turn = 0; turn < times; turn++) {
      progress(`kill ${turn + 1} of ${times}`);
      await until(async () => (await hosted.workers()).length === WORKERS, 'a worker is not replaced');
      const [{ pid }] = await hosted.workers();
      for (const client of crowd) client.begin();
      process.kill(pid, 'SIGKILL');
      await until(async () => !(await hosted.workers()).some((one) => one.pid === pid), 'the worker does not end');
      // Those that have noticed nothing by then were on other workers.
      await sleep(1000);
      await until(() => crowd.every((client) => client.isConnected), 'not all clients return');
    }
  } finally {
    progress('');
    for (const client of crowd) client.close();
    for (const child of computing) child.kill('SIGKILL');
    await hosted.stop();
  }
  const returns = crowd.flatMap((client) => client.returns);
  const row = (name, of, limits) => figure(name, returns.map(of), limits);
  return [
    { name: 'returns', value: returns.length, least: 1 },
    { name: 'first failures', value: counts(returns.map(({ reason }) => reason)) },
    { name: 'attempts that failed', value: counts(returns.flatMap(({ failures }) => failures)) },
    ...row('kill to disconnect', ({ detection }) => detection),
    ...row("the client's first delay", ({ firstDelay }) => firstDelay),
    ...row('its further delays', ({ laterDelays }) => laterDelays),
    ...row('attempts', ({ attempts }) => attempts),
    ...row('kill to connect', ({ total }) => total),
    ...row('kill to connect without the first delay', ({ total, firstDelay }) => total - firstDelay, {
      most: MAX_WAIT_MS,
    }),
  ];
}

/** A client that measures how it returns. All times are in ms. */
class Client {
  returns = [];
  #socket;
  #current;

  constructor(url) {
    this.#socket = io(url, { forceNew: true, transports: ['polling'] });
    const now = () => performance.now();
    // Also when the server ends a connection before the namespace has answered: the client then begins its delays again.
    this.#socket.io.on('close', (reason, details) => {
      const current = this.#current;
      if (!current) return;
      const text = `${reason} ${textOf(details)}`.trim();
      if (current.attemptAt) return this.#failed(text, now());
      Object.assign(current, { disconnectAt: now(), waitSince: now(), reason: text });
    });
    this.#socket.io.on('reconnect_attempt', () => {
      const current = this.#current;
      if (!current?.waitSince) return;
      current.delays.push(now() - current.waitSince);
      current.attemptAt = now();
    });
    this.#socket.io.on('reconnect_error', (error) => this.#failed(`${error.message} ${textOf(error)}`, now()));
    this.#socket.on('connect', () => this.#returned(now()));
  }

  #failed(message, at) {
    const current = this.#current;
    if (!current) return;
    current.failures.push(message.trim());
    current.attempts += at - current.attemptAt;
    current.waitSince = at;
  }

  #returned(at) {
    const current = this.#current;
    if (!current?.attemptAt) return;
    this.#current = undefined;
    const [firstDelay, ...later] = current.delays;
    this.returns.push({
      reason: current.reason,
      failures: current.failures,
      detection: current.disconnectAt - current.killedAt,
      firstDelay,
      laterDelays: later.reduce((sum, one) => sum + one, 0),
      attempts: current.attempts + at - current.attemptAt,
      total: at - current.killedAt,
    });
  }

  begin() {
    this.#current = { killedAt: performance.now(), delays: [], failures: [], attempts: 0 };
  }

  get isConnected() {
    return this.#socket.connected;
  }

  close() {
    this.#socket.disconnect();
  }
}

/** What a transport says of its error. */
const textOf = (error) =>
  [error?.description, error?.context?.status, error?.context?.responseText]
    .filter((one) => typeof one === 'string' || one > 0)
    .map((one) => String(one).split('\n', 1)[0])
    .join(' ');

function figure(name, values, { most } = {}) {
  const sorted = values.sort((a, b) => a - b);
  const at = (share) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
  return [
    { name: `${name}: half within`, value: at(0.5), unit: 'ms' },
    { name: `${name}: 95% within`, value: at(0.95), unit: 'ms', most },
    { name: `${name}: longest`, value: at(1), unit: 'ms' },
  ];
}

function counts(texts) {
  const found = new Map();
  for (const text of texts) found.set(text, (found.get(text) ?? 0) + 1);
  return [...found].map(([text, count]) => `${count} × ${text}`).join(', ') || 'none';
}
