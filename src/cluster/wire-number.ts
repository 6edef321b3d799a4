import cluster from 'node:cluster';
import { MESH_DIRECTORY } from './protocol.js';

/**
 * The number of what the primary, the hub and the workers of a machine say to each other, and a hash of the files that
 * define it. `test/cluster/wire-number.test.ts` lists the files, and fails if they change and this does not. Raise the
 * number unless both builds understand each other.
 */
export const wire = { number: 21, hash: '9ea8115f49033f6f' } as const;

/** The environment variable with the number of the primary. This name and the exit code are the same in all builds. */
export const WIRE_NUMBER = 'GJALLAR_WIRE_NUMBER';

/** How a worker or a hub ends that has another number than its primary. */
export const OTHER_WIRE = 190;

/** What the log says of it. */
export const OTHER_BUILD =
  'the gjallar that is installed now does not understand this primary, which is of another build; restart the server';

/** Ends this process if it is a worker of a primary with another number, before it does anything. */
export function leaveOtherBuild({ [MESH_DIRECTORY]: isOfMachine, [WIRE_NUMBER]: given }: NodeJS.ProcessEnv): void {
  if (cluster.isWorker && isOfMachine && given !== String(wire.number)) process.exit(OTHER_WIRE);
}
