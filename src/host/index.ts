/**
 * The life of a process that serves an application, the chat or any other.
 *
 * It promises: an application gets what the chat gets: workers, relay, reload, drain, limits, logs, metrics, `/readyz`.
 *
 *   config/         the options: one table, from which the help and the reference are made
 *   runtime/        a worker: start, drain, stop; what the operator may ask of it
 *   run/            `gjallar run`: an application of its own on several workers
 *   operations/     health, metrics, `/admin`, the log of connections
 *
 * Begin with runtime/worker.ts. It knows nothing of the chat.
 */
export { loadConfig } from './config/load.js';
export type { Config } from './config/options.js';
export type { Application, ApplicationView, RunningApplication } from './runtime/application.js';
export type { MachineWorker } from './runtime/machine-worker.js';
export { OwnPort } from './runtime/own-port.js';
export { startWorker } from './runtime/worker.js';
