// Load with artillery: `npm run load -- [scenario…] [--quick]`. See README.md beside this file.

import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure, installArtillery, runArtillery, startServer } from './artillery/run.js';
import { scenarios } from './artillery/scenarios.js';
import { verdictOf } from './artillery/verdict.js';
import { listed, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { cpuShare, machineShare, machineUse, readCpu } from './harness/process/machine.js';
import { familyOf } from './harness/process/processes.js';
import { provenance } from './harness/results.js';

/** What the command ends with; README.md tells what each means. The worst verdict comes first. */
const codes = { failed: 1, inconclusive: 4, ok: 0, notRun: 3, interrupted: 130 };

const usage = () => `npm run load -- [scenario…] [--quick]

Plays users of the chat with artillery. Without a name, every scenario runs.

${listed(Object.entries(scenarios).map(([name, { about }]) => [name, about]))}

Options:
${listed([
  ['--quick', 'a few seconds per scenario'],
  ['--help', 'show this text'],
])}

Environment:
${listed([
  ['TARGET', 'address of the server; by default the command starts a server itself'],
  ['TOKEN', 'token of all users'],
])}

Exit code: 0; 1 when a threshold was missed; 2 when the arguments are wrong; 3 when nothing could run; 4 when a threshold
was missed, but artillery or other programs may be the reason.`;

const command = { name: 'load', call: 'npm run load --' };
const { names, quick, target } = await readCommandLine(command, readArguments, usage);
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interruption.abort());

try {
  process.exitCode = await run();
} catch (error) {
  if (!(error instanceof Failure) && !interruption.signal.aborted) throw error;
  if (error instanceof Failure) console.error(`load: ${error.message}`);
  process.exitCode = interruption.signal.aborted ? codes.interrupted : codes.notRun;
}

/** Runs the scenarios, one after the other. @returns the exit code */
async function run() {
  if (target) await checkTarget();
  installArtillery();
  const date = new Date().toISOString();
  const folder = fileURLToPath(new URL(`results/load/${date.replaceAll(':', '-')}/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  const server = target ? undefined : await startServer(join(folder, 'server.log'));
  const results = [];
  try {
    for (const name of names) {
      console.log(`\n${name}: ${scenarios[name].about}`);
      results.push(await runScenario(name, folder, server));
    }
  } finally {
    await server?.stop();
  }
  writeFileSync(join(folder, 'summary.json'), JSON.stringify({ date, target, quick, results, ...provenance }, null, 2));
  console.log(`\n${results.map(({ scenario, verdict }) => `${scenario} ${shown(verdict)}`).join(', ')}`);
  console.log(`Reports: ${relative(process.cwd(), folder)}`);
  return Object.entries(codes).find(([verdict]) => results.some((result) => result.verdict === verdict))[1];
}

/** Runs one scenario, and prints artillery's report with what it cost and what it says. */
async function runScenario(name, folder, server) {
  const look = () => ({
    machine: machineUse(),
    server: server ? readCpu(familyOf(server.process.pid)) : { micros: Number.NaN },
  });
  const before = look();
  const played = await runArtillery({ name, url: target ?? server.url, quick, folder, signal: interruption.signal });
  const after = look();
  const cpu = { artillery: played.cpu, server: cpuShare(before.server, after.server) };
  const machine = (key) => machineShare(before.machine, after.machine, key);
  const whole = { cores: availableParallelism(), used: machine('used'), stolen: machine('stolen') };
  const { verdict, reasons } = verdictOf(played, cpu, whole);
  console.log(played.printed.slice(Math.max(0, played.printed.lastIndexOf('Summary report'))).trim());
  const cores = Object.entries(cpu).map(([who, used]) => `${who} ${Number.isNaN(used) ? '–' : used.toFixed(2)} cores`);
  console.log(`CPU: ${cores.join(', ')}`);
  for (const reason of reasons) console.log(`disturbed: ${reason}`);
  if (played.code === null) console.log('artillery took too long');
  console.log(`${name}: ${shown(verdict)}`);
  return { scenario: name, verdict, reasons, cpu, report: played.report };
}

/** All but `ok` should be noticed. */
function shown(verdict) {
  return verdict === 'ok' ? verdict : verdict.toUpperCase();
}

/** Makes sure that a gjallar takes clients at the target. @throws Failure */
async function checkTarget() {
  const answer = await fetch(new URL('/readyz', target), { signal: AbortSignal.timeout(10_000) }).catch((error) => {
    throw new Failure(`TARGET=${target} does not answer: ${error.cause?.message ?? error.message}`);
  });
  const health = await answer.json().catch(() => undefined);
  if (typeof health?.state !== 'string') throw new Failure(`TARGET=${target} is no gjallar: its /readyz is another's`);
  if (!health.ok)
    throw new Failure(`TARGET=${target} takes no clients now: ${health.problems.map(({ text }) => text).join(', ')}`);
}

function readArguments() {
  const { values, positionals } = parseArguments({ quick: { type: 'boolean', default: false } });
  const all = Object.keys(scenarios);
  rejectUnknown('scenario', positionals, all);
  const { TARGET } = process.env;
  return {
    ...values,
    names: positionals.length > 0 ? [...new Set(positionals)] : all,
    target: TARGET ? readTarget(TARGET) : undefined,
  };
}

/** A path would be taken for a namespace by clients. */
function readTarget(value) {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && !url.username && url.pathname === '/' && !url.search && !url.hash;
  if (isPlain && ['http:', 'https:'].includes(url.protocol)) return url.origin;
  throw new UsageError(`TARGET=${value} is not the address of a server, such as https://chat.example.com`);
}
