import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { nodeFlags } from '../peers/index.js';
import { placement } from './process/cores.js';

/** Where and of what a result was measured. Every row carries it, so that rows of several runs and machines can be mixed. */
export const provenance = {
  machine: { ...placement, cpu: cpus()[0]?.model, memory: totalmem(), kernel: release() },
  versions: {
    node: process.version.slice(1),
    'socket.io': installed('socket.io'),
    'engine.io': installed('engine.io'),
    ws: installed('ws'),
    'uWebSockets.js': installed(`@uwsjs/${process.platform}-${process.arch}-${process.versions.node.split('.')[0]}`),
    redis: output('redis-server', ['--version'])?.match(/v=(\S+)/)?.[1],
    nats: output('nats-server', ['--version'])?.match(/v(\d\S*)/)?.[1],
    go: output('go', ['version'])?.match(/go(\d\S*)/)?.[1],
    java: output('java', ['--version'])?.split(' ')[1],
    rust: output('rustc', ['--version'])?.split(' ')[1],
  },
  // Ends in -dirty where a file under version control was changed.
  commit: output('git', ['describe', '--always', '--dirty', '--exclude', '*']),
};

/** undefined of a package that is not there, as that of a binary that this platform has not. */
function installed(name) {
  // Not by require: a package need not export its package.json.
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  if (!existsSync(file)) return undefined;
  const found = JSON.parse(readFileSync(file, 'utf8'));
  return found.name === name ? found.version : `${found.name} ${found.version}`;
}

/** What a program prints, or undefined where it is missing or fails. */
function output(program, args) {
  try {
    return execFileSync(program, args, { cwd: new URL('.', import.meta.url), encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return undefined;
  }
}

/** One result as one line, appended to `file`. */
export function record(file, result) {
  mkdirSync(dirname(file), { recursive: true });
  // Of Node.js, for all servers.
  const flags = result.parameters?.peer?.nodeFlags ?? nodeFlags;
  const line = { date: new Date().toISOString(), ...result, load: loadavg()[0], ...provenance, flags };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Room for a figure and its ratio. */
const FIGURE_WIDTH = 14;

/**
 * Prints the rows of one cell as they come: each figure with its ratio to the first peer's where that says something.
 * @param {{ key: string, title: string, digits?: number, ratio?: boolean }[]} columns
 * @param {readonly string[]} peers of the rows that will come
 * @returns {(row: { peer: string, result?: object, note?: string }) => void} prints one row
 */
export function tableOf(columns, peers) {
  const first = Math.max(...peers.map(({ length }) => length));
  const widths = columns.map(({ title }) => Math.max(FIGURE_WIDTH, title.length));
  const print = (name, cells, note = '') => {
    const padded = cells.map((cell, index) => cell.padStart(widths[index]));
    console.log(`  ${[name.padEnd(first), ...padded, note].join('  ').trimEnd()}`);
  };
  print(
    '',
    columns.map(({ title }) => title),
  );
  let reference;
  return ({ peer, result, note }) => {
    reference ??= { result };
    print(
      peer,
      columns.map((column) => (result ? figure(column, result, reference.result) : '–')),
      note,
    );
  };
}

function figure({ key, digits = 1, ratio = false }, result, reference) {
  const value = result[key];
  if (value === undefined || Number.isNaN(value)) return '–';
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  if (!ratio || !reference?.[key]) return text;
  return `${text} (${(value / reference[key]).toPrecision(2)})`;
}
