import { createRequire } from 'node:module';

/**
 * `@socket.io/cluster-engine`, or undefined. It is no dependency, because some registries do not have it: its rows say so where it
 * is missing. `NODE_PATH` may name the folder that it is in.
 */
export const clusterEngine = installed();

function installed() {
  try {
    return createRequire(import.meta.url)('@socket.io/cluster-engine');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}
