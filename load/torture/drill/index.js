import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoPostgres } from '../../../test/support/databases.js';
import { soon, until } from '../../harness/until.js';
import { cleaningUp, progress } from '../support/scenario.js';
import { parts } from './faults.js';
import { startPrometheus, whyNoPrometheus } from './prometheus.js';

/** How soon each signal must name the fault, in ms. */
const LIMIT_MS = 15_000;
const STEP_MS = 200;
const MAX_RECOVERY_MS = 40_000;

export async function run({ short }) {
  const whyNot =
    whyNoPrometheus() ?? whyNoPostgres() ?? (process.getuid() === 0 ? undefined : 'a disk of its own needs root');
  if (whyNot) return [{ name: 'drill', value: `skipped: ${whyNot}` }];
  return cleaningUp(async (use) => {
    const directory = mkdtempSync(join(tmpdir(), 'gjallar-drill-'));
    use(() => rmSync(directory, { recursive: true, force: true }));
    // PostgreSQL runs under another account.
    chmodSync(directory, 0o755);
    const prometheus = use(await startPrometheus(directory));
    const names = Object.keys(parts).filter((name) => !short || name !== 'processes');
    const started = await startAll(names, directory, use);
    const address = ({ server }) => new URL(server.admin).host;
    await prometheus.watch(started.map((part) => ({ ...part, address: address(part) })));
    return (await Promise.all(started.map((part) => drillPart(part, prometheus)))).flat();
  });
}

/** Starts all parts at the same time. If one fails, the others have started too, and can be stopped. */
async function startAll(names, directory, use) {
  const outcomes = await Promise.allSettled(
    names.map(async (name) => ({ name, ...(await parts[name](use, directory)) })),
  );
  const started = outcomes.flatMap(({ value }) => value ?? []);
  for (const { server } of started) use(server);
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
  return started;
}

async function drillPart({ name, server, faults }, prometheus) {
  const figures = [];
  for (const fault of faults) {
    progress(`${name}: ${fault.name}`);
    figures.push(...(await drill(fault, name, server, prometheus)));
    if (!fault.undo) continue;
    await fault.undo();
    const isUp = async () => (await server.readiness())?.problems?.length === 0;
    await until(isUp, `${name} did not recover`, MAX_RECOVERY_MS);
  }
  return figures;
}

/** Injects a fault, and waits for what names it. @param {import('./faults.js').Fault} fault */
async function drill(fault, instance, server, prometheus) {
  const { name, readyz, log = readyz, remedy } = fault;
  const wanted = fault.alert ? { alertname: fault.alert } : { alertname: 'GjallarProblem', code: readyz };
  const metric = (fault.metric ?? `gjallar_problem{instance="$i",code="${readyz}"}`).replaceAll('$i', instance);
  const isAlert = ({ labels }) =>
    labels.instance === instance && Object.entries(wanted).every(([label, value]) => labels[label] === value);
  if (await prometheus.has(metric)) throw new Error(`the metric of "${name}" is there before the fault`);
  if ((await prometheus.alerts()).some(isAlert)) throw new Error(`the alert of "${name}" fires before the fault`);
  const seen = server.log.length;
  let alert;
  const looks = {
    readyz: async () => {
      const told = await server.readiness();
      if (readyz === 'no answer') return told === undefined;
      return [...(told?.problems ?? []), ...(told?.warnings ?? [])].some(({ code }) => code === readyz);
    },
    log: () => server.log.slice(seen).some(({ msg, code }) => (typeof log === 'string' ? code === log : log.test(msg))),
    metric: () => prometheus.has(metric),
    alert: async () => {
      alert = (await prometheus.alerts()).find(isAlert);
      return alert !== undefined;
    },
  };
  const start = Date.now();
  await fault.inject();
  const figures = await Promise.all(
    Object.entries(looks).map(async ([signal, look]) => {
      // Longer than is allowed, so that the figure shows by how much.
      const isSeen = await soon(look, 2 * LIMIT_MS, STEP_MS);
      const value = isSeen ? Date.now() - start : Number.POSITIVE_INFINITY;
      return { name: `${name}: ${signal}`, value, unit: 'ms', most: LIMIT_MS };
    }),
  );
  const isDocumented = alert !== undefined && hasRemedy(alert, remedy);
  return [
    ...figures,
    { name: `${name}: remedy of ${wanted.alertname} documented`, value: Number(isDocumented), least: 1 },
  ];
}

/** Whether the page that the alert names has a row for it, or for the problem that it names, with the remedy. */
function hasRemedy({ labels, annotations }, remedy) {
  const [page] = annotations.runbook.split('#');
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');
  const row = text.split('\n').find((line) => line.startsWith(`| \`${labels.code ?? labels.alertname}\``));
  return row !== undefined && remedy.test(row);
}
