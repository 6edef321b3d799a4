import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const INTERVAL_MS = 5;
/** The thresholds are for machines on which 99% of the round trips of the baseline are this fast. */
export const USUAL_MS = 10;

const server = `
const server = require('node:net').createServer((socket) => socket.setNoDelay().pipe(socket));
server.listen(0, '127.0.0.1', () => process.stdout.write(String(server.address().port)));
process.stdin.resume().on('end', () => process.exit());
`;

/**
 * What this machine can do before anything loads it: the times of round trips to a second process that only echoes, one
 * at a time. A process that must wait for its CPU shows here, whatever is the reason.
 * @param {number} ms for how long
 * @returns {Promise<{ p50: number, p99: number }>} in ms
 */
export async function measureBaseline(ms) {
  const child = spawn(process.execPath, ['-e', server], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [port] = await once(child.stdout, 'data');
    const socket = connect(Number(port), '127.0.0.1').setNoDelay();
    await once(socket, 'connect');
    const times = [];
    const end = performance.now() + ms;
    while (performance.now() < end) {
      // A timer that is late is a part of what a user on this machine would see.
      const due = performance.now() + INTERVAL_MS;
      await sleep(INTERVAL_MS);
      const answered = once(socket, 'data');
      socket.write('echo');
      await answered;
      times.push(performance.now() - due);
    }
    socket.destroy();
    return percentiles(times);
  } finally {
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
  }
}

function percentiles(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.floor((sorted.length - 1) * share)];
  return { p50: at(0.5), p99: at(0.99) };
}

/** How many times as long as usual everything may take on this machine. Never less than 1. */
export const allowanceOf = ({ p99 }) => Math.max(1, p99 / USUAL_MS);
