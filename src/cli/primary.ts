import type { AddressInfo } from 'node:net';
import { relative } from 'node:path';
import type { Logger } from 'pino';
import { GjallarError } from '../base/errors.js';
import type { Figure } from '../base/figures.js';
import { createLog } from '../base/log.js';
import { own } from '../base/owner.js';
import { packageFile } from '../base/package.js';
import { type BackplaneName, backplaneNameOf } from '../cluster/backplanes/index.js';
import { takeSignals } from '../cluster/primary/early-signals.js';
import { Primary, type PrimaryOptions } from '../cluster/primary/primary.js';
import { socketsInUse } from '../engine/uws/uws.js';
import { descriptorLimit } from '../host/config/limits.js';
import type { RunConfig } from '../host/config/options.js';
import { unknownVariables } from '../host/config/unknown.js';
import { RecentEvents } from '../host/operations/overview/recent-events.js';
import { logFailures } from '../host/runtime/exceptions.js';
import { hubAddressOf } from '../host/runtime/machines/hub-address.js';
import type { Machine } from './admin-source.js';
import { SourceWatch } from './watch.js';

const TOO_SMALL_LIMIT =
  'the limit of open files is too small: each worker rejects further connections beyond this number, or earlier; raise ' +
  'it to 65536 (ulimit -n, or LimitNOFILE of systemd)';
const LOW_LIMIT =
  'the limit of open files is low for the memory of this machine, and each client takes one in its worker; raise it ' +
  '(ulimit -n, or LimitNOFILE of systemd)';

/** What the workers of a primary run. */
export interface Launch extends Pick<PrimaryOptions, 'file' | 'arguments' | 'nodeFlags' | 'onMessage'> {
  /** An address that must be free before the workers start. */
  address?: { host: string; port: number };
  /** A folder with sources: when one changes, the workers are reloaded. */
  watch?: string;
  /** Called when all workers listen. */
  started(facts: Started): void;
}

/** What is known once all workers listen. */
export interface Started {
  addresses: readonly AddressInfo[];
  bus: BackplaneName;
  log: Logger;
}

/** Runs the primary: starts the workers and the admin port, and obeys signals. */
export async function runPrimary(config: RunConfig, launch: Launch): Promise<void> {
  const recent = new RecentEvents();
  const log = createLog(config.logLevel, { process: 'primary' }, recent.addLine);
  logFailures(log);
  const { workers, startTimeout, drainTimeout, reloadSettle, adminPort: port } = config;
  const { address, watch, started, ...what } = launch;
  // Loaded when needed: most machines are never asked for metrics.
  let loading: Promise<Machine> | undefined;
  const machine = () => {
    loading ??= import('./admin-source.js').then(({ Machine }) => new Machine(primary, config, log, recent));
    return loading;
  };
  const metrics = async () => (await machine()).metrics();
  const onEnding = (worker: number, figures: unknown) =>
    own(
      'counting what a worker has done',
      machine().then((of) => of.figures.ended(worker, figures as Figure[])),
    );
  const options = { workers, startTimeout, drainTimeout, reloadSettle, log, metrics, onEnding };
  const primary = new Primary({ ...options, ...what });
  const stop = stopOnce(primary);
  obeySignals(primary, stop);
  // Of a process manager.
  process.on('message', (message) => primary.broadcast(message as never));
  try {
    if (address) await primary.reserve(address.host, address.port);
    const adminPort = port === undefined ? port : await (await machine()).serve(port);
    if (stop.isStopping) return;
    const hub = packageFile('dist/cluster/hub/thread.js');
    // It links with the workers when it is there.
    own('starting the hub', primary.startHub(hub, hubAddressOf(config)));
    await primary.start();
    reportSockets(log);
    for (const { name, meant } of unknownVariables(process.env, config.variablePrefix !== undefined)) {
      log.warn({ variable: name, meant }, `the variable ${name} is unknown and has no effect; did you mean ${meant}?`);
    }
    adviseOnDescriptors(workers, log);
    if (adminPort !== undefined) log.info({ host: config.adminHost, port: adminPort }, 'the admin port is open');
    if (watch) reloadOnChange(primary, watch, log);
    // Its last line says where to go.
    started({ addresses: primary.addresses, bus: backplaneNameOf(config), log });
    tellParent('ready');
  } catch (error) {
    // Workers that are already running would keep the process alive.
    if (error instanceof GjallarError) console.error(`gjallar: ${error.message}`);
    else log.fatal({ error }, 'startup failed');
    await stop.now(1);
  }
}

/** Sends a message to the process that has started this one, such as a process manager, as long as it listens. */
export function tellParent(message: unknown): void {
  // Without the callback, Node.js emits an error that ends this process once the parent has closed the channel.
  process.send?.(message, undefined, undefined, () => {});
}

function reloadOnChange(primary: Primary, folder: string, log: Logger): void {
  const onChange = (file: string) => {
    log.info({ file: relative('', file) }, 'a file has changed: reloading');
    primary.reload(true);
  };
  const sources = new SourceWatch(folder, onChange, (missed, error) => {
    log.warn({ folder: missed, error }, 'a folder cannot be watched, and perhaps others too: changes in it are missed');
  });
  if (sources.isPartial)
    log.warn({ folder }, 'the application has more than 1,000 folders: changes in others are missed');
}

function reportSockets(log: Logger): void {
  const { kind, source, reason, remedy, warning } = socketsInUse;
  if (kind === 'native') log.info({ source }, 'the sockets are native');
  else if (warning) log.warn({ source }, `${warning}. To have native ones, ${remedy}`);
  else log.info({ source }, `the sockets are portable: ${reason}`);
}

function adviseOnDescriptors(workers: number, log: Logger): void {
  const { max, wanted, isLow, isTooSmall, connections } = descriptorLimit(workers) ?? {};
  if (isTooSmall) log.error({ max, connections }, TOO_SMALL_LIMIT);
  else if (isLow) log.warn({ max, wanted }, LOW_LIMIT);
}

interface Stop {
  readonly isStopping: boolean;
  now(code: number): Promise<void>;
}

function stopOnce(primary: Primary): Stop {
  let stopping: Promise<void> | undefined;
  return {
    get isStopping() {
      return stopping !== undefined;
    },
    now: (code) => {
      stopping ??= primary.stop().then(() => process.exit(code));
      return stopping;
    },
  };
}

function obeySignals(primary: Primary, stop: Stop): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stop.isStopping) primary.stopNow();
      else own('stopping', stop.now(0));
    });
  }
  process.on('SIGHUP', () => primary.reload());
  process.on('SIGUSR2', () => primary.leave());
  for (const signal of takeSignals()) process.emit(signal, signal);
}
