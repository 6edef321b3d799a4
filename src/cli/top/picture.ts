import type { Overview, Rates, WorkerRow } from '../../operations/overview/overview.js';
import { beside, column, cut, safe } from './columns.js';
import { bytes, count, ms, percent, span } from './figures.js';

/** The size of a picture. Without a number of rows, it is as long as it needs to be. */
export interface Size {
  columns: number;
  rows?: number | undefined;
}

/** Below this width, lists stand below each other. */
const MIN_WIDTH_OF_TWO = 72;

/** Draws the overview as lines of text, none longer than the terminal is wide. */
export function pictureOf(overview: Overview, { columns, rows }: Size): string[] {
  const lines = [
    ...head(overview),
    '',
    ...workerLines(overview),
    ...(overview.hasNames
      ? ['', ...lists(overview, columns)]
      : ['', 'Set ADMIN_USER to see rooms, users and addresses.']),
    ...recentLines(overview),
  ].map((line) => cut(line.trimEnd(), columns));
  return rows === undefined ? lines : lines.slice(0, rows);
}

function head(overview: Overview): string[] {
  const { host, version, state, uptime, rates, latency, cores, memory, memoryLimit, buffered, clients } = overview;
  const transports = Object.entries(overview.transports).map(([name, number]) => `${count(number)} ${name}`);
  const elsewhere = overview.workersElsewhere ? `, ${count(overview.workersElsewhere)} workers elsewhere` : '';
  const { roundTrip, eventLoop, history } = latency;
  return [
    `gjallar ${version} on ${safe(host)}: ${state}, up ${span(uptime)}${elsewhere}`,
    ...overview.problems.flatMap(({ problem, remedy }) => [`! ${safe(problem)}`, `  ${remedy}`]),
    `clients   ${column(count(clients), 8)} ${transports.join(', ')}, ${count(rates.opened)} new/s`,
    `messages  in ${count(rates.received)}/s, out ${count(rates.sent + rates.deliveries)}/s ` +
      `(${count(rates.deliveries)} deliveries/s of ${count(rates.broadcasts)} broadcasts/s)`,
    `rooms     ${percent(shareOf(rates, 'stayed'))} of messages stay on their worker, ` +
      `${percent(shareOf(rates, 'crossedWorkers'))} cross workers, ${percent(shareOf(rates, 'crossedMachines'))} cross machines`,
    `lost      ${count(rates.refused)} rejected/s, ${count(rates.dropped)} dropped/s, ${bytes(buffered)} waiting`,
    `latency   event loop ${ms(eventLoop?.p99)} (longest ${ms(eventLoop?.max)}), ` +
      `round trip ${ms(roundTrip?.p50)} (95% ${ms(roundTrip?.p95)}), history ${ms(history)}`,
    `machine   CPU ${percent(rates.cpu / cores)} of ${cores} cores, memory ${bytes(memory)} of ${bytes(memoryLimit)}`,
  ];
}

/** The share of the messages to rooms that went so far; undefined if there were none. */
function shareOf(rates: Rates, reach: 'stayed' | 'crossedWorkers' | 'crossedMachines'): number | undefined {
  const all = rates.stayed + rates.crossedWorkers + rates.crossedMachines;
  return all > 0 ? rates[reach] / all : undefined;
}

const workerColumns: readonly [title: string, width: number, read: (worker: WorkerRow) => string][] = [
  ['worker', 6, ({ id }) => String(id)],
  ['pid', 8, ({ pid }) => String(pid ?? '–')],
  ['state', 11, ({ doesRespond, state }) => (doesRespond ? (state ?? '') : 'no answer')],
  ['clients', 8, ({ clients }) => count(clients)],
  ['cpu', 5, ({ rates }) => percent(rates?.cpu)],
  ['memory', 7, ({ memory }) => bytes(memory)],
  ['delay', 7, ({ delay }) => ms(delay?.p99)],
  ['in/s', 7, ({ rates }) => count(rates?.received)],
  ['out/s', 7, ({ rates }) => count(rates && rates.sent + rates.deliveries)],
  ['stay', 5, ({ rates }) => percent(rates && shareOf(rates, 'stayed'))],
];

function workerLines({ workers, configuredWorkers }: Overview): string[] {
  const line = (cells: readonly string[]) =>
    cells.map((cell, index) => column(cell, workerColumns[index]![1], index === 2 ? 'left' : 'right')).join(' ');
  const missing = configuredWorkers - workers.length;
  return [
    line(workerColumns.map(([title]) => title)),
    ...workers.map((worker) => line(workerColumns.map(([, , read]) => read(worker)))),
    ...(missing > 0 ? [`${missing} of ${configuredWorkers} not running`] : []),
  ];
}

function lists(overview: Overview, columns: number): string[] {
  const isWide = columns >= MIN_WIDTH_OF_TWO;
  const width = isWide ? Math.floor((columns - 2) / 2) : columns;
  const rooms = roomLines(overview, width);
  const users = overview.users.length > 0 ? talkerLines('top users', overview.users, width) : [];
  const talkers = [
    ...users,
    ...(users.length > 0 ? [''] : []),
    ...talkerLines('top addresses', overview.addresses, width),
  ];
  return isWide ? beside(rooms, talkers, columns) : [...rooms, '', ...talkers];
}

function roomLines({ rooms, roomCount }: Overview, width: number): string[] {
  const line = (name: string, members: string, rate: string) =>
    `${column(name, width - 16)}${column(members, 8, 'right')}${column(rate, 8, 'right')}`;
  const shown = rooms.slice(0, 12).map(({ namespace, name, members, perSecond }) => {
    const full = safe(namespace === '/' ? name : `${namespace} ${name}`);
    return line(full, count(members), count(perSecond));
  });
  return [line(`top rooms of ${count(roomCount)}`, 'members', 'sent/s'), ...shown];
}

function talkerLines(title: string, talkers: Overview['users'], width: number): string[] {
  const line = (name: string, rate: string) => `${column(name, width - 8)}${column(rate, 8, 'right')}`;
  return [
    line(title, 'sends/s'),
    ...talkers.slice(0, 5).map(({ key, perSecond }) => line(safe(key) || 'unknown', count(perSecond))),
  ];
}

function recentLines({ recent, at }: Overview): string[] {
  if (recent.length === 0) return [];
  const lines = recent.slice(0, 10).map((event) => {
    const about = Object.entries(event.details).map(([name, value]) => `${name} ${value}`);
    const what = [event.code, event.message].filter(Boolean).join(' ');
    const start = `${column(span(Math.max(0, at - event.at) / 1000), 8)}${column(count(event.count), 6, 'right')}  `;
    return start + safe([what, ...about].join(', '));
  });
  return ['', `${column('last', 8)}${column('count', 6, 'right')}  recent rejections and errors`, ...lines];
}
