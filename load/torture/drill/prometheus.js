import { spawn } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { end, own } from '../../../test/support/children.js';
import { freePort } from '../../../test/support/ports.js';

const PROGRAM = '/usr/bin/prometheus';
const rules = new URL('../../../deploy/prometheus/alerts.yml', import.meta.url);

/** Why there is no Prometheus here, or undefined where there is. */
export function whyNoPrometheus() {
  return existsSync(PROGRAM) ? undefined : 'Prometheus is not installed';
}

/** A Prometheus that scrapes servers every second and evaluates the alert rules of deploy/, but without their `for`. */
export async function startPrometheus(directory) {
  const port = await freePort();
  const file = (name) => join(directory, name);
  /** Resolves with undefined while it is starting. */
  const ask = (path) =>
    fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
      .then((response) => response.json())
      .catch(() => undefined);
  /** Whether a query has a result. */
  const has = async (query) => {
    const answer = await ask(`query?query=${encodeURIComponent(query)}`);
    return (answer?.data.result.length ?? 0) > 0;
  };
  const write = (targets) => {
    const groups = targets.map(({ name, address, isPatient }) => {
      // The primary asks a worker that is stuck for 2 s before it asks the next one.
      const pace = isPatient ? '4s' : '1s';
      return { targets: [address], labels: { instance: name, __scrape_interval__: pace, __scrape_timeout__: pace } };
    });
    // Prometheus must not read half of it.
    writeFileSync(file('targets.json.new'), JSON.stringify(groups));
    renameSync(file('targets.json.new'), file('targets.json'));
  };

  write([]);
  writeFileSync(file('alerts.yml'), readFileSync(rules, 'utf8').replaceAll(/for: \w+/g, 'for: 0s'));
  const discovery = { files: [file('targets.json')], refresh_interval: '1s' };
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    scrape_configs: [{ job_name: 'gjallar', file_sd_configs: [discovery] }],
  };
  writeFileSync(file('prometheus.yml'), JSON.stringify(config));
  const flags = {
    'config.file': file('prometheus.yml'),
    'storage.tsdb.path': file('tsdb'),
    'web.listen-address': `127.0.0.1:${port}`,
    'log.level': 'error',
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  const child = own(spawn(PROGRAM, args, { stdio: ['ignore', 'inherit', 'inherit'] }));
  while (!(await ask('query?query=1'))) await sleep(100);
  return {
    has,
    /** Scrapes these servers, and resolves once each was scraped. @param {import('./faults.js').Part[]} targets with an `address` */
    async watch(targets) {
      write(targets);
      for (const { name } of targets) while (!(await has(`up{instance="${name}"} == 1`))) await sleep(200);
    },
    /** The alerts that fire. @returns {Promise<{ labels: Record<string, string>, annotations: object }[]>} */
    alerts: async () => ((await ask('alerts'))?.data.alerts ?? []).filter(({ state }) => state === 'firing'),
    stop: () => end(child, 'SIGTERM'),
  };
}
