import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoPostgres } from '../../harness/servers/postgres.js';
import { progress } from '../support/scenario.js';
import { clientsPart, dataPart, primaryKilled, processesPart, redisPart, whyNoFaults } from './faults.js';
import { Prometheus, whyNoPrometheus } from './prometheus.js';
import { releasePart } from './release.js';
import { drill, LIMIT_MS } from './signals.js';

const PARTS = [redisPart, dataPart, clientsPart];
const PARTS_LONG = [...PARTS, releasePart, processesPart];
/** In the short form, no worker hangs, and the primary that is killed is that of the server with the broken release. */
const PARTS_SHORT = [...PARTS, lastPart];
const SIGNALS = ['readyz', 'log', 'metric', 'alert'];

export async function run({ short }) {
  const reason = whyNoPrometheus() ?? whyNoPostgres() ?? whyNoFaults();
  if (reason) return [{ name: 'drill', value: `skipped: ${reason}` }];
  const directory = mkdtempSync(join(tmpdir(), 'gjallar-drill-'));
  // PostgreSQL runs under another account.
  chmodSync(directory, 0o755);
  const undoing = [() => rmSync(directory, { recursive: true, force: true })];
  const atEnd = (undo) => undoing.push(undo);
  try {
    const prometheus = await Prometheus.start(directory);
    atEnd(() => prometheus.stop());
    const parts = await startAll(short ? PARTS_SHORT : PARTS_LONG, { directory, atEnd });
    await prometheus.watch(
      parts.map(({ station, isPatient }) => ({ name: station.name, address: new URL(station.admin).host, isPatient })),
    );
    const rows = (await Promise.all(parts.map((part) => drillPart(part, prometheus)))).flat();
    progress('');
    printTable(rows);
    return rows.flatMap(figuresOf);
  } finally {
    for (const undo of undoing.reverse()) await undo();
  }
}

/** Starts all parts at the same time. If one fails, the others have started too, and can be stopped. */
async function startAll(starts, place) {
  const outcomes = await Promise.allSettled(starts.map((start) => start(place)));
  const parts = outcomes.filter(({ status }) => status === 'fulfilled').map(({ value }) => value);
  for (const { station } of parts) place.atEnd(() => station.stop());
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
  return parts;
}

async function lastPart(place) {
  const { station, faults } = await releasePart(place);
  return { station, faults: [...faults, primaryKilled(station)] };
}

async function drillPart({ station, faults }, prometheus) {
  const rows = [];
  for (const fault of faults) {
    progress(`${station.name}: ${fault.name}`);
    rows.push({ name: fault.name, ...(await drill({ fault, station, prometheus })) });
    if (!fault.undo) continue;
    await fault.undo();
    await station.recovered();
  }
  return rows;
}

function printTable(rows) {
  const seconds = (ms) => (ms === undefined ? 'never' : `${(ms / 1000).toFixed(1)} s`);
  const widths = [26, 9, 9, 9, 9];
  const line = (cells) => console.log(`  ${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('')}`);
  line(['fault', '/readyz', 'log', 'metric', 'alert', 'which, and its remedy']);
  for (const row of rows) {
    const which = `${row.alertName ?? 'none'}, ${row.remedy ? 'documented' : 'not documented'}`;
    line([row.name, ...SIGNALS.map((signal) => seconds(row[signal])), which]);
  }
}

function figuresOf({ name, alertName, remedy, ...times }) {
  return [
    ...SIGNALS.map((signal) => ({
      name: `${name}: ${signal}`,
      value: times[signal] ?? Number.POSITIVE_INFINITY,
      unit: 'ms',
      most: LIMIT_MS,
    })),
    { name: `${name}: remedy of ${alertName} documented`, value: Number(remedy ?? false), least: 1 },
  ];
}
