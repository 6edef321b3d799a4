import { fileURLToPath } from 'node:url';
import { usageOf } from './measure.js';
import { HOST } from './peer.js';
import { numberIn, runTool } from './tool.js';

const units = { us: 1e-3, ms: 1, s: 1e3, m: 6e4 };

/** The scripts for wrk. */
const scripts = new URL('../../benchmarks/service/', import.meta.url);

/**
 * Has wrk send requests over keep-alive connections, on each as fast as the answers come.
 * @param {import('./peer.js').Peer} peer
 * @param {{ path: string, connections: number, seconds: number, threads?: number, script?: string, headers?: string[] }} options
 *   script: a file of load/benchmarks/service
 */
export async function runWrk(peer, { path, connections, seconds, threads = 6, script, headers = [] }) {
  const numbers = ['-t', Math.min(threads, connections), '-c', connections, '-d', `${seconds}s`];
  const scripted = script ? ['-s', fileURLToPath(new URL(script, scripts))] : [];
  const command = [
    'wrk',
    ...numbers,
    '--latency',
    '--timeout',
    '20s',
    ...scripted,
    ...headers.flatMap((header) => ['-H', header]),
    `http://${HOST}:${peer.port}${path}`,
  ];
  const { output, server, generators } = await runTool(peer, command.map(String));
  const perSecond = numberIn(output, /^Requests\/sec: +([\d.]+)/m);
  const failures = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(output)?.slice(1) ?? [0];
  return {
    perSecond,
    completed: numberIn(output, /(\d+) requests in/),
    cpuPerRequest: (server * 1e6) / perSecond,
    average: duration(output, /Latency +([\d.]+)(us|ms|s|m)\b/),
    p50: duration(output, /50% +([\d.]+)(us|ms|s|m)\b/),
    p99: duration(output, /99% +([\d.]+)(us|ms|s|m)\b/),
    longest: duration(output, /Latency +\S+ +\S+ +([\d.]+)(us|ms|s|m)\b/),
    refused: Number(failures[0]),
    errors: failures.reduce(
      (sum, count) => sum + Number(count),
      numberIn(output, /Non-2xx or 3xx responses: (\d+)/) || 0,
    ),
    toolAtLimit: generators.saturated,
    // Whether the server was at its limit is told by its own CPU; a busy wrk makes answers fewer and later, not cheaper.
    ...usageOf({ server, rss: peer.rss(), generators: { ...generators, saturated: false } }),
  };
}

/** A time that a pattern finds, in ms. */
function duration(output, pattern) {
  const [, number, unit] = pattern.exec(output) ?? [];
  return Number(number) * units[unit];
}
