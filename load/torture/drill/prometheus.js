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
export class Prometheus {
  #child;
  #url;
  #targets;

  static async start(directory) {
    const prometheus = new Prometheus();
    const port = await freePort();
    prometheus.#url = `http://127.0.0.1:${port}/api/v1`;
    prometheus.#targets = join(directory, 'targets.json');
    prometheus.#write([]);
    writeFileSync(join(directory, 'alerts.yml'), readFileSync(rules, 'utf8').replaceAll(/for: \w+/g, 'for: 0s'));
    writeFileSync(
      join(directory, 'prometheus.yml'),
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: ['alerts.yml'],
        scrape_configs: [
          { job_name: 'gjallar', file_sd_configs: [{ files: [prometheus.#targets], refresh_interval: '1s' }] },
        ],
      }),
    );
    const flags = {
      'config.file': join(directory, 'prometheus.yml'),
      'storage.tsdb.path': join(directory, 'tsdb'),
      'web.listen-address': `127.0.0.1:${port}`,
      'log.level': 'error',
    };
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    prometheus.#child = own(spawn(PROGRAM, args, { stdio: ['ignore', 'inherit', 'inherit'] }));
    while (!(await prometheus.#ask('query?query=1'))) await sleep(100);
    return prometheus;
  }

  /** @param {{ name: string, address: string, isPatient: boolean }[]} targets */
  #write(targets) {
    const groups = targets.map(({ name, address, isPatient }) => {
      // The primary asks a worker that is stuck for 2 s before it asks the next one.
      const pace = isPatient ? '4s' : '1s';
      return { targets: [address], labels: { instance: name, __scrape_interval__: pace, __scrape_timeout__: pace } };
    });
    // Prometheus must not read half of it.
    writeFileSync(`${this.#targets}.new`, JSON.stringify(groups));
    renameSync(`${this.#targets}.new`, this.#targets);
  }

  /** Scrapes these servers, and resolves once each was scraped. */
  async watch(targets) {
    this.#write(targets);
    for (const { name } of targets) while (!(await this.has(`up{instance="${name}"} == 1`))) await sleep(200);
  }

  /** Whether a query has a result. */
  async has(query) {
    const answer = await this.#ask(`query?query=${encodeURIComponent(query)}`);
    return (answer?.data.result.length ?? 0) > 0;
  }

  /** The alerts that fire. @returns {Promise<{ labels: Record<string, string>, annotations: object }[]>} */
  async alerts() {
    const answer = await this.#ask('alerts');
    return (answer?.data.alerts ?? []).filter(({ state }) => state === 'firing');
  }

  async #ask(path) {
    try {
      return await (await fetch(`${this.#url}/${path}`)).json();
    } catch {
      // It is still starting.
      return undefined;
    }
  }

  async stop() {
    await end(this.#child, 'SIGTERM');
  }
}
