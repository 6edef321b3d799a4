import { spawn } from 'node:child_process';
import { now } from '../../generator/clock.js';
import { readCpu } from './machine.js';
import { familyOf } from './processes.js';

const SAMPLE_MS = 250;

/**
 * Runs a load tool of others to its end.
 * @param {string[]} command
 * @param {import('node:child_process').SpawnOptions & { onSpawn?: (child: object) => unknown }} [options]
 * @returns {Promise<{ code: number | null, output: string, cpu: number }>} what it printed, and CPU seconds per second that it
 *   used; the code is null where a signal ended it
 * @throws Error where it is not installed
 */
export async function runTool([program, ...args], { onSpawn, ...options } = {}) {
  const from = now();
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  onSpawn?.(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  let used = 0;
  const timer = setInterval(() => {
    // Of processes and threads that have ended there is nothing to tell.
    used = Math.max(used, readCpu(familyOf(child.pid)).micros || 0);
  }, SAMPLE_MS);
  let failure;
  child.once('error', (error) => {
    failure = error;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(timer);
  if (failure && failure.name !== 'AbortError') throw failure;
  return { code, output, cpu: used / 1000 / (now() - from) };
}
