/**
 * What every room uses, and what uses none of them.
 *
 * It promises: each failure has a code and a remedy, and nothing that fails in the background does so in silence.
 *
 *   errors.ts       the codes of all errors, and what to do about each
 *   problems.ts     what is down: one name in the log, in `/readyz`, in a metric and in an alert
 *   names.ts        names of rooms, as parts of topics and between processes
 *   owner.ts        work in the background, whose failures are reported
 *   outage.ts       the time in which something is down; within.ts bounds the time of a promise
 *   listeners.ts    `on`, `once` and `off` of what applications create
 *   figure-table.ts the names of all metrics; figures.ts adds up their values
 *   process.ts      what a process gives its parts: the hub, the adapter, who hears of reports
 *   package.ts      this package: its version, its files, its parts that are loaded late
 */
export { type ErrorCode, errorCodes, GjallarError, MalformedMessage } from './errors.js';
export { Figures, Histogram, type Readings } from './figures.js';
export { attempt, own, owned } from './owner.js';
export { packageFile, requireHere, version } from './package.js';
export { thisProcess } from './process.js';
export { within } from './within.js';
