import type { Config } from '../../config/options.js';
import { adminOf } from '../../http/guard.js';
import { type Finding, ok, warn } from './finding.js';
import { originOf } from './network.js';

const TIMEOUT_MS = 3000;
/** With fewer messages, their shares say little. */
const MIN_MESSAGES = 1000;
/** From this share on, crossing messages cost more than the rest. */
const MANY = 0.25;
const LINE = /^gjallar_bus_reach_total\{(?=[^}]*to="room")[^}]*reach="(\w+)"[^}]*\} (\d+)$/gm;

/** How far the messages of a running server have to go, from its metrics. Says nothing if none can be read. */
export async function checkReach(config: Config): Promise<Finding[]> {
  const metrics = await metricsOf(config);
  if (metrics === undefined) return [];
  const counts: Record<string, number> = {};
  for (const [, reach, count] of metrics.matchAll(LINE)) counts[reach!] = (counts[reach!] ?? 0) + Number(count);
  const { worker = 0, machine = 0, machines = 0 } = counts;
  const all = worker + machine + machines;
  if (all < MIN_MESSAGES) return [];
  const percent = (count: number) => `${Math.round((100 * count) / all)}%`;
  if ((machine + machines) / all < MANY) return [ok(`${percent(worker)} of messages to rooms stay on their worker`)];
  const [count, what] = machines >= machine ? [machines, 'machines'] : [machine, 'workers'];
  return [warn(`${percent(count)} of messages to rooms cross ${what}. See docs/guide/placement.md.`)];
}

async function metricsOf(config: Config): Promise<string | undefined> {
  const { adminHost, adminPort, host, port, tlsKey } = config;
  // With TLS, the certificate is for another name than that of the loopback interface.
  if (!adminPort && (tlsKey || port === 0)) return undefined;
  const account = adminOf(config);
  const given = account && Buffer.from(`${account.user}:${account.password}`).toString('base64');
  const headers = given ? { authorization: `Basic ${given}` } : undefined;
  const origin = adminPort ? originOf(adminHost, adminPort) : originOf(host, port);
  try {
    const response = await fetch(`${origin}/metrics`, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}
