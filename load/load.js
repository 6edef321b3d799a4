// Load with artillery: `npm run load -- [scenario…] [--quick]`. See README.md beside this file.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readArguments, scenarios, usage } from './artillery/command/arguments.js';
import { runArtillery } from './artillery/command/artillery.js';
import { CpuWatch } from './artillery/command/cpu.js';
import { Failure } from './artillery/command/failure.js';
import { installArtillery } from './artillery/command/install.js';
import { checkTarget, startServer } from './artillery/command/server.js';
import { describe, summarize } from './artillery/command/summary.js';
import { BAD_USAGE, UsageError } from './harness/command.js';
import { provenance } from './harness/provenance.js';

/** What the command ends with; README.md tells what each means. */
const MISSED = 1;
const NOT_RUN = 3;
const INTERRUPTED = 130;

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interruption.abort());

try {
  const { names, quick, target, help } = readArguments(process.argv.slice(2), process.env);
  if (help) console.log(usage);
  else process.exitCode = (await run(names, quick, target)) ? 0 : MISSED;
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

/** Runs the scenarios, one after the other. @returns whether all went well */
async function run(names, quick, target) {
  if (target) await checkTarget(target);
  installArtillery();
  const date = new Date().toISOString();
  const folder = fileURLToPath(new URL(`results/load/${date.replaceAll(':', '-')}/`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  const server = target ? undefined : await startServer(join(folder, 'server.log'));
  const url = target ?? server.url;
  const cpu = server && new CpuWatch(server.pid);
  const results = [];
  try {
    for (const name of names) {
      console.log(`\n${name}: ${scenarios[name]}`);
      const result = await runScenario({ name, url, quick, folder, signal: interruption.signal }, cpu);
      for (const line of describe(result)) console.log(`  ${line}`);
      results.push(result);
    }
  } finally {
    cpu?.stop();
    await server?.stop();
  }
  writeFileSync(join(folder, 'summary.json'), JSON.stringify({ date, target, quick, results, ...provenance }, null, 2));
  console.log(`\n${results.map(({ scenario, ok }) => `${scenario} ${ok ? 'ok' : 'FAILED'}`).join(', ')}`);
  console.log(`Reports: ${relative(process.cwd(), folder)}`);
  return results.every(({ ok }) => ok);
}

async function runScenario(options, serverCpu) {
  const run = await runArtillery(options);
  const { firstMetricAt, lastMetricAt } = run.report ?? {};
  const shareOf = (watch) => watch?.share(firstMetricAt, lastMetricAt) ?? Number.NaN;
  return summarize({ name: options.name, ...run }, { artillery: shareOf(run.cpu), server: shareOf(serverCpu) });
}
