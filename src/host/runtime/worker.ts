import { own } from '../../base/owner.js';
import { flushStateStores } from '../../features/state/replica/store-reports.js';
import type { RunConfig } from '../config/options.js';
import { answerPrimary } from './answers.js';
import type { Application } from './application.js';
import { logFailures, surviveExceptions } from './exceptions.js';
import { Departure } from './lifecycle/departure.js';
import { MachineWorker } from './machine-worker.js';
import type { Surroundings } from './surroundings.js';

/** How long the end waits until state rooms are stored, in ms. */
const MAX_STORE_MS = 2000;

/**
 * Runs a worker: joins the machine, starts the application, has it listen, and shuts down.
 * @returns what resolves at the end of the worker
 */
export async function startWorker(
  config: RunConfig,
  application: Application,
  surroundings: Surroundings,
): Promise<{ stopped: Promise<void> }> {
  const worker = await MachineWorker.join(config, surroundings);
  const { orders, log } = worker;
  worker.figures.add(application.survivesExceptions ? surviveExceptions(log) : logFailures(log));
  // An application may wait for Redis: until it has started, /readyz has the reason from here.
  const reporter = answerPrimary(worker);
  const running = await application.start(worker);
  if (running.operator) worker.seam = running.operator;
  if (running.view) worker.view = running.view;
  const departure = new Departure(worker, running, orders);
  worker.stateOf = () => departure.stateOf(running.isReady());
  const listen = async () => {
    const isOnPort = await running.listen();
    departure.listening();
    orders.send({ type: 'listening', isOnPort });
  };
  own('listening', listen());
  const stop = async () => {
    await departure.untilStopped((drained) => log.info({ ...drained, ...worker.moves.outcome }, 'stopping'));
    const report = () => orders.send({ type: 'ending', figures: reporter.figures });
    // An application that handles SIGTERM may end the process from here on.
    report();
    running.stop();
    await flushStateStores(MAX_STORE_MS);
    await running.close();
    report();
    await worker.close();
    surroundings.ended();
  };
  return { stopped: stop() };
}
