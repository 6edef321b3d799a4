/**
 * Loaded before the application in each worker of `gjallar run`. Child processes and threads of the application inherit
 * the flag that loads it, and are left alone.
 */
import '../../engine/uws/environment.js';
import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { leaveOtherBuild } from '../../cluster/wire-number.js';
import { forkedSurroundings, holdSignals, isOfMachine } from '../runtime/surroundings.js';

/** bundle.js adds preload.mjs, which waits for it: Node.js starts the application after that. */
export const ready = isMainThread && cluster.worker && isOfMachine() ? prepare() : undefined;

async function prepare(): Promise<void> {
  leaveOtherBuild(process.env);
  holdSignals();
  const { loadRunConfig } = await import('../config/load.js');
  const { startWorker } = await import('../runtime/worker.js');
  const { userApplication } = await import('./application.js');
  const config = loadRunConfig(process.env);
  const { stopped } = await startWorker(config, userApplication(config), forkedSurroundings());
  const { own } = await import('../../base/owner.js');
  own('stopping', stopped);
}
