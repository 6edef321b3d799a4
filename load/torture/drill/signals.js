import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** How soon each signal must name the fault, in ms. */
export const LIMIT_MS = 15_000;

const STEP_MS = 200;

/**
 * What names a fault.
 * @typedef {object} Signals
 * @property {string} readyz a code in `problems` or `warnings`, or 'no answer'
 * @property {RegExp | string} log the message of a log line, or its code
 * @property {string} metric a query that has a result; `$i` is the name of the server
 * @property {Record<string, string>} alert labels of an alert that fires, its name among them
 * @property {RegExp} remedy what the row of the alert, or of the problem it names, says in the documentation
 */

/** Injects a fault, and waits for its signals. @returns the time to each in ms; undefined where it did not come */
export async function drill({ fault, station, prometheus }) {
  const { signals, inject } = fault;
  const instance = station.name;
  const metric = signals.metric.replaceAll('$i', instance);
  const isAlert = ({ labels }) =>
    labels.instance === instance && Object.entries(signals.alert).every(([name, wanted]) => labels[name] === wanted);
  if (await prometheus.has(metric)) throw new Error(`the metric of "${fault.name}" is there before the fault`);
  if ((await prometheus.alerts()).some(isAlert)) throw new Error(`the alert of "${fault.name}" fires before the fault`);
  const seen = station.log.length;
  let alert;
  const looks = {
    readyz: async () => {
      const readiness = await station.readiness();
      if (signals.readyz === 'no answer') return readiness === undefined;
      return [...(readiness?.problems ?? []), ...(readiness?.warnings ?? [])].some(
        ({ code }) => code === signals.readyz,
      );
    },
    log: () =>
      station.log
        .since(seen)
        .some(({ msg, code }) => (typeof signals.log === 'string' ? code === signals.log : signals.log.test(msg))),
    metric: () => prometheus.has(metric),
    alert: async () => {
      alert = (await prometheus.alerts()).find(isAlert);
      return alert !== undefined;
    },
  };
  const stop = new AbortController();
  const start = Date.now();
  await inject(stop.signal);
  const times = Object.fromEntries(
    await Promise.all(Object.entries(looks).map(async ([name, look]) => [name, await timeTo(look, start)])),
  );
  stop.abort();
  return { ...times, alertName: alert?.labels.alertname, remedy: alert && remedyOf(alert, signals.remedy) };
}

async function timeTo(look, start) {
  // Longer than is allowed, so that the table shows by how much.
  while (Date.now() - start < 2 * LIMIT_MS) {
    if (await look()) return Math.max(0, Date.now() - start);
    await sleep(STEP_MS);
  }
  return undefined;
}

/** Whether the page that the alert names has a row for it, or for the problem that it names, with the remedy. */
function remedyOf({ labels, annotations }, remedy) {
  const [page] = annotations.runbook.split('#');
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');
  const row = text.split('\n').find((line) => line.startsWith(`| \`${labels.code ?? labels.alertname}\``));
  return row !== undefined && remedy.test(row);
}
