import cluster from 'node:cluster';
import { constants } from 'node:os';
import type { DestinationStream } from 'pino';
import { setTimeOrigin } from '../../base/clock.js';
import { raise } from '../../base/owner.js';
import { ALIVE_INTERVAL_MS, MACHINE_ID, MESH_DIRECTORY, TIME_ORIGIN } from '../../cluster/protocol.js';
import { WIRE_NUMBER } from '../../cluster/wire-number.js';
import { type Orders, receiveOrders } from './lifecycle/orders.js';

/**
 * What a worker gets from whatever started it: the primary that forked its process, or a test that runs it in its own
 * process.
 */
export interface Surroundings {
  /** The worker's id, unique for the lifetime of the primary. */
  readonly id: number;
  /** The folder of the workers' sockets. */
  readonly directory: string;
  /** The id of the machine. */
  readonly machine: string;
  /** The primary's orders, and the way to the primary. */
  readonly orders: Orders;
  /** Where the log goes; by default to the standard output. */
  readonly logTo?: DestinationStream;
  /** Called once the worker accepts links from other workers. */
  linked(): void;
  /** Calls back if the primary is gone. The worker ends then. */
  onGone(listener: () => void): void;
  /** Called when the worker has stopped. */
  ended(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;
const ignore = (): void => {};

/** Ctrl-C in a terminal reaches every process, but only the primary reacts to it. */
export function holdSignals(): void {
  for (const signal of signals) process.on(signal, ignore);
}

/** Has SIGTERM reach the application. @returns what its listeners return; there are none if it does not handle the signal */
export function passSigterm(): unknown[] {
  process.off('SIGTERM', ignore);
  return process.rawListeners('SIGTERM').map((listener) => {
    try {
      return Reflect.apply(listener, process, ['SIGTERM', constants.signals.SIGTERM]);
    } catch (error) {
      raise(error);
      return undefined;
    }
  });
}

/** The surroundings of a worker that a primary has forked. They can be read once. */
export function forkedSurroundings(): Surroundings {
  const orders = receiveOrders();
  const { [MESH_DIRECTORY]: directory, [MACHINE_ID]: machine, [TIME_ORIGIN]: origin } = process.env;
  // A worker of a program that the application starts is none of this machine, and would inherit them.
  for (const name of [MESH_DIRECTORY, MACHINE_ID, TIME_ORIGIN, WIRE_NUMBER]) delete process.env[name];
  setTimeOrigin(Number(origin));
  return {
    id: cluster.worker!.id,
    directory: directory!,
    machine: machine!,
    orders,
    linked: () => {
      orders.send({ type: 'meshed' });
      setInterval(() => orders.send({ type: 'alive' }), ALIVE_INTERVAL_MS).unref();
    },
    // The cluster module ends this process right after the event.
    onGone: (listener) => void cluster.worker!.once('disconnect', listener),
    ended: () => process.exit(0),
  };
}

/** Whether this process was forked by a primary of gjallar, and has not read its surroundings yet. */
export function isOfMachine(): boolean {
  return process.env[MESH_DIRECTORY] !== undefined;
}
