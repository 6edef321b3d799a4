import { spawn } from 'node:child_process';
import { now } from '../../generator/clock.js';
import { commandOn, generatorCore } from '../process/cores.js';
import { cpuShare, readCpu } from '../process/cpu.js';
import { GENERATOR_LIMIT } from './verdict.js';

const SAMPLE = 250;

/**
 * Runs a load tool of others on the generators' core, and tells what it printed, and what server and tool used meanwhile.
 * @param {import('./peer.js').Peer} peer
 * @param {string[]} command
 * @returns {Promise<{ output: string, server: number, generators: object }>}
 * @throws Error where the tool is not installed, or fails
 */
export async function runTool(peer, command) {
  const [program, ...args] = commandOn(generatorCore(0, peer.cores), command);
  const before = await peer.cpu();
  const from = now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let share = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  const timer = setInterval(() => {
    share = cpuShare({ at: from, micros: 0 }, readCpu([child.pid])) || share;
  }, SAMPLE);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearInterval(timer));
  const after = await peer.cpu();
  if (code !== 0) throw new Error(`${command[0]} ended with ${code}: ${output.trim().split('\n').at(-1)}`);
  return {
    output,
    server: cpuShare(before, after),
    generators: { shares: [share], busiest: share, saturated: share > GENERATOR_LIMIT },
  };
}

/** The number that a pattern's first group finds in a tool's output. NaN where it does not. */
export const numberIn = (output, pattern) => Number(pattern.exec(output)?.[1]);
