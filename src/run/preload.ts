/**
 * Loaded before the application in each worker of `gjallar run`. Child processes and threads of the application inherit
 * the flag that loads it, and are left alone.
 */
import '../compat/uws/environment.js';
import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import { isOfMachine } from '../runtime/surroundings.js';

if (isMainThread && cluster.worker && isOfMachine()) {
  const { startHostedWorker } = await import('./hosted-worker.js');
  await startHostedWorker();
}
