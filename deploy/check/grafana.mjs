import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { io } from 'socket.io-client';
import { parse, stringify } from 'yaml';
import { postgres } from '../../test/support/databases.js';
import { freePort } from '../../test/support/ports.js';
import { startService, until, withRedis } from './support.mjs';

const deploy = fileURLToPath(new URL('..', import.meta.url));
const SCRAPE_INTERVAL = '1s';
/** Grafana takes at least four times the scrape interval for `$__rate_interval`. */
const VARIABLES = { $__rate_interval: '10s', $instance: '.+', $job: '.+' };

/** The queries of a dashboard, with the variables that Grafana replaces. */
export function queriesOf(dashboard) {
  return dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => {
      const filled = Object.entries(VARIABLES).reduce((text, [name, value]) => text.replaceAll(name, value), expr);
      if (filled.includes('$')) throw new Error(`the panel "${title}" has an unknown variable: ${expr}`);
      return { title, expr: filled };
    }),
  );
}

/** Starts Prometheus with the configuration of deploy/prometheus for these servers. Resolves with its URL. */
async function startPrometheus(folder, servers, signal) {
  const config = parse(readFileSync(join(deploy, 'prometheus', 'prometheus.yml'), 'utf8'));
  config.global.scrape_interval = SCRAPE_INTERVAL;
  config.rule_files = [join(deploy, 'prometheus', 'alerts.yml')];
  config.scrape_configs[0].static_configs[0].targets = servers.map(({ port }) => `127.0.0.1:${port}`);
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, stringify(config));
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ];
  const child = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  signal.gone = once(child, 'close').catch(() => {});
  signal.stop = () => child.kill();
  child.on('error', (error) => {
    said += error.message;
  });
  const url = `http://${address}`;
  await until('Prometheus answers', async () => {
    if (child.exitCode !== null || !child.pid) throw new Error(`Prometheus ended: ${said.slice(-2000)}`);
    return (await ask(url, 'up == 1').catch(() => [])).length === servers.length;
  });
  return url;
}

async function ask(url, query) {
  const response = await fetch(`${url}/api/v1/query`, { method: 'POST', body: new URLSearchParams({ query }) });
  const { data, error } = await response.json();
  if (error) throw new Error(`${query}: ${error}`);
  return data.result;
}

/** Clients on all servers and transports that post, and read what was posted. */
async function startLoad(servers) {
  const clients = servers.flatMap(({ url }) =>
    [['polling'], ['websocket'], ['polling', 'websocket']].map((transports) => io(url, { transports, forceNew: true })),
  );
  const ended = new AbortController();
  const run = Promise.all(
    clients.map(async (client) => {
      await client.timeout(10_000).emitWithAck('join', 'hall');
      while (!ended.signal.aborted) {
        await client.timeout(10_000).emitWithAck('message', { room: 'hall', text: 'hello' });
        await client.timeout(10_000).emitWithAck('history', { room: 'hall', after: 0, limit: 10 });
        await sleep(50);
      }
    }),
  );
  return async () => {
    ended.abort();
    await run.finally(() => {
      for (const client of clients) client.disconnect();
    });
  };
}

/** Runs the query of each panel on a real Prometheus that scrapes two real servers under load. */
export function grafana() {
  const queries = queriesOf(JSON.parse(readFileSync(join(deploy, 'grafana', 'gjallar.json'), 'utf8')));
  return withRedis(async (REDIS_URL) => {
    const folder = mkdtempSync(join(tmpdir(), 'gjallar-grafana-'));
    const { PATH, HOME } = process.env;
    const database = await postgres();
    const env = { PATH, HOME, WORKERS: '2', REDIS_URL, ARCHIVE_URL: database.url };
    const servers = await Promise.all([1, 2].map(() => startService(env)));
    const prometheus = { stop: () => {}, gone: undefined };
    let endLoad = async () => {};
    try {
      endLoad = await startLoad(servers);
      const url = await startPrometheus(folder, servers, prometheus);
      let empty = queries;
      await until('all panels have data', async () => {
        const answers = await Promise.all(empty.map(({ expr }) => ask(url, expr)));
        empty = empty.filter((_, index) => !answers[index].some(({ value }) => Number.isFinite(Number(value[1]))));
        return empty.length === 0;
      }).catch((error) => {
        if (empty.length === 0) throw error;
        throw new Error(`${empty.map(({ title, expr }) => `no data in "${title}": ${expr}`).join('\n')}`);
      });
      return `${queries.length} queries have data`;
    } finally {
      await endLoad();
      prometheus.stop();
      await prometheus.gone;
      await Promise.all(servers.map((server) => server.stop()));
      await database.remove();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
