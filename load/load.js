// Load with artillery: `npm run load -- [scenario…] [--quick]`. See README.md beside this file.

import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArguments, usage } from './artillery/command/arguments.js';
import { installArtillery, runArtillery } from './artillery/command/run.js';
import { checkTarget, Failure, startServer } from './artillery/command/server.js';
import { describe, LABELS, summarize } from './artillery/command/summary.js';
import { scenarios } from './artillery/scenarios.js';
import { readCommandLine } from './harness/command.js';
import { cpuShare, machineShare, machineUse, readCpu } from './harness/process/machine.js';
import { familyOf } from './harness/process/processes.js';
import { provenance } from './harness/results.js';

/** What the command ends with; README.md tells what each means. */
const codes = { ok: 0, failed: 1, notRun: 3, inconclusive: 4, interrupted: 130 };

const command = { name: 'load', call: 'npm run load --' };
const { names, quick, target } = await readCommandLine(command, () => readArguments(process.env), usage);
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
  if (target) await checkTarget(target);
  installArtillery();
  const date = new Date().toISOString();
  const folder = fileURLToPath(new URL(`results/load/${date.replaceAll(':', '-')}/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  const server = target ? undefined : await startServer(join(folder, 'server.log'));
  const results = [];
  try {
    for (const name of names) {
      console.log(`\n${name}: ${scenarios[name].about}`);
      const options = { name, url: target ?? server.url, quick, folder, signal: interruption.signal };
      const result = await runScenario(options, server);
      for (const line of describe(result)) console.log(`  ${line}`);
      results.push(result);
    }
  } finally {
    await server?.stop();
  }
  writeFileSync(join(folder, 'summary.json'), JSON.stringify({ date, target, quick, results, ...provenance }, null, 2));
  console.log(`\n${results.map(({ scenario, verdict }) => `${scenario} ${LABELS[verdict]}`).join(', ')}`);
  console.log(`Reports: ${relative(process.cwd(), folder)}`);
  const worst = ['failed', 'inconclusive', 'ok'].find((verdict) =>
    results.some((result) => result.verdict === verdict),
  );
  return codes[worst];
}

async function runScenario(options, server) {
  const look = () => ({
    machine: machineUse(),
    server: server ? readCpu(familyOf(server.process.pid)) : { micros: Number.NaN },
  });
  const before = look();
  const run = await runArtillery(options);
  const after = look();
  const used = { artillery: run.cpu, server: cpuShare(before.server, after.server) };
  const machine = (key) => machineShare(before.machine, after.machine, key);
  const whole = { cores: availableParallelism(), used: machine('used'), stolen: machine('stolen') };
  return summarize({ name: options.name, ...run }, used, whole);
}
