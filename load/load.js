// Load with artillery: `npm run load -- [scenario…] [--quick]`. See README.md beside this file.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArguments, scenarios, usage } from './artillery/command/arguments.js';
import { runArtillery } from './artillery/command/artillery.js';
import { allowanceOf, measureBaseline } from './artillery/command/baseline.js';
import { CpuWatch } from './artillery/command/cpu.js';
import { Failure } from './artillery/command/failure.js';
import { installArtillery } from './artillery/command/install.js';
import { MachineWatch } from './artillery/command/machine.js';
import { checkTarget, startServer } from './artillery/command/server.js';
import { describe, LABELS, summarize } from './artillery/command/summary.js';
import { BAD_USAGE, UsageError } from './harness/command.js';
import { provenance } from './harness/provenance.js';

/** What the command ends with; README.md tells what each means. */
const MISSED = 1;
const NOT_RUN = 3;
const INCONCLUSIVE = 4;
const INTERRUPTED = 130;

const BASELINE_MS = 3000;
const QUICK_BASELINE_MS = 1000;

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interruption.abort());

try {
  const { names, quick, target, help } = readArguments(process.argv.slice(2), process.env);
  if (help) console.log(usage);
  else process.exitCode = await run(names, quick, target);
} catch (error) {
  if (interruption.signal.aborted) process.exitCode = INTERRUPTED;
  else if (error instanceof UsageError) fail(error.message, BAD_USAGE);
  else if (error instanceof Failure) fail(error.message, NOT_RUN);
  else throw error;
}

function fail(message, code) {
  console.error(`load: ${message}`);
  process.exitCode = code;
}

/** Runs the scenarios, one after the other. @returns the exit code */
async function run(names, quick, target) {
  if (target) await checkTarget(target);
  installArtillery();
  const date = new Date().toISOString();
  const folder = fileURLToPath(new URL(`results/load/${date.replaceAll(':', '-')}/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  const baseline = await measureBaseline(quick ? QUICK_BASELINE_MS : BASELINE_MS);
  const allowance = allowanceOf(baseline);
  console.log(`Baseline: a round trip to an idle process takes ${baseline.p50.toFixed(1)} ms, 99% take up to`);
  console.log(`${baseline.p99.toFixed(1)} ms. Times may be ${allowance.toFixed(1)} times as long as the thresholds.`);
  const server = target ? undefined : await startServer(join(folder, 'server.log'));
  const url = target ?? server.url;
  const cpu = server && new CpuWatch(server.pid);
  const machine = new MachineWatch();
  const results = [];
  try {
    for (const name of names) {
      console.log(`\n${name}: ${scenarios[name]}`);
      const result = await runScenario(
        { name, url, quick, folder, signal: interruption.signal },
        { cpu, machine, allowance },
      );
      for (const line of describe(result)) console.log(`  ${line}`);
      results.push(result);
    }
  } finally {
    cpu?.stop();
    machine.stop();
    await server?.stop();
  }
  writeFileSync(
    join(folder, 'summary.json'),
    JSON.stringify({ date, target, quick, baseline, results, ...provenance }, null, 2),
  );
  console.log(`\n${results.map(({ scenario, verdict }) => `${scenario} ${LABELS[verdict]}`).join(', ')}`);
  console.log(`Reports: ${relative(process.cwd(), folder)}`);
  return exitCodeOf(results);
}

function exitCodeOf(results) {
  if (results.some(({ verdict }) => verdict === 'failed')) return MISSED;
  return results.some(({ verdict }) => verdict === 'inconclusive') ? INCONCLUSIVE : 0;
}

async function runScenario(options, { cpu, machine, allowance }) {
  const startedAt = Date.now();
  const run = await runArtillery(options);
  // A run that was ended has no report.
  const { firstMetricAt = startedAt, lastMetricAt = Date.now() } = run.report ?? {};
  const shareOf = (watch) => watch?.share(firstMetricAt, lastMetricAt) ?? Number.NaN;
  const used = { artillery: shareOf(run.cpu), server: shareOf(cpu) };
  return summarize({ name: options.name, ...run }, used, {
    allowance,
    machine: machine.share(firstMetricAt, lastMetricAt),
  });
}
