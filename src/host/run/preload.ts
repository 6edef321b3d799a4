/**
 * Loaded before the application in each worker of `gjallar run`. Child processes and threads of the application inherit
 * the flag that loads it, and are left alone.
 */
import '../../engine/uws/environment.js';
import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { version } from '../../base/package.js';
import { forkedSurroundings, holdSignals, isOfMachine } from '../runtime/surroundings.js';

if (isMainThread && cluster.worker && isOfMachine()) {
  holdSignals();
  const { loadRunConfig } = await import('../config/load.js');
  const { startWorker } = await import('../runtime/worker.js');
  const { userApplication } = await import('./application.js');
  const config = loadRunConfig(process.env);
  const { stopped } = await startWorker(config, version, userApplication(config), forkedSurroundings());
  const { own } = await import('../../base/owner.js');
  own('stopping', stopped);
}
