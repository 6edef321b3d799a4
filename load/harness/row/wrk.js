import { fileURLToPath } from 'node:url';
import { own } from '../../../test/support/children.js';
import { commandOn, generatorCore } from '../process/cores.js';
import { cpuShare } from '../process/machine.js';
import { runTool } from '../process/tool.js';
import { idleGenerator, usageOf } from './measure.js';
import { HOST } from './peer.js';

const units = { us: 1e-3, ms: 1, s: 1e3, m: 6e4 };

/** The scripts for wrk. */
const scripts = new URL('../../benchmarks/', import.meta.url);

/**
 * Has wrk send requests over keep-alive connections, on each as fast as the answers come.
 * @param {import('./peer.js').Peer} peer
 * @param {{ path: string, connections: number, seconds: number, threads?: number, script?: string, headers?: string[] }} options
 *   script: a file of load/benchmarks
 */
export async function runWrk(peer, { path, connections, seconds, threads = 6, script, headers = [] }) {
  const numbers = ['-t', Math.min(threads, connections), '-c', connections, '-d', `${seconds}s`, '--timeout', '20s'];
  const scripted = script ? ['-s', fileURLToPath(new URL(script, scripts))] : [];
  const more = [...scripted, ...headers.flatMap((header) => ['-H', header])];
  const command = ['wrk', ...numbers, '--latency', ...more, `http://${HOST}:${peer.port}${path}`].map(String);
  const before = peer.cpu();
  const { code, output, cpu } = await runTool(commandOn(generatorCore(0, peer.cores), command), { onSpawn: own });
  const server = cpuShare(before, peer.cpu());
  if (code !== 0) throw new Error(`wrk ended with ${code}: ${output.trim().split('\n').at(-1)}`);

  const number = (pattern) => Number(pattern.exec(output)?.[1]);
  const duration = (before) => {
    const [, value, unit] = new RegExp(`${before} +([\\d.]+)(us|ms|s|m)\\b`).exec(output) ?? [];
    return Number(value) * units[unit];
  };
  const perSecond = number(/^Requests\/sec: +([\d.]+)/m);
  const failures = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)?.slice(1) ?? [0];
  return {
    perSecond,
    completed: number(/(\d+) requests in/),
    cpuPerRequest: (server * 1e6) / perSecond,
    average: duration('Latency'),
    p99: duration('99%'),
    longest: duration('Latency +\\S+ +\\S+'),
    refused: Number(failures[0]),
    errors: failures.reduce((sum, count) => sum + Number(count), number(/Non-2xx or 3xx responses: (\d+)/) || 0),
    // Whether the server was at its limit is told by its own CPU; a busy wrk makes answers fewer and later, not cheaper.
    ...usageOf({ server, rss: peer.rss(), ...idleGenerator(cpu) }),
  };
}
