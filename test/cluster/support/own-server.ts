import { afterEach, beforeEach } from '@jest/globals';
import { disconnectAll } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { type RunningServer, startServer } from '../../support/server.js';

/** The folder of the running test, where its server has its sockets. */
export let directory: string;
/** The server of the running test, from {@link start} until the test's end. */
export let server: RunningServer;

beforeEach(() => {
  directory = temporaryFolder();
});

afterEach(async () => {
  disconnectAll();
  await server.stop();
});

/** Node.js keeps compiled code in TMPDIR, from version 22 on, and the tests look at what gjallar keeps there. */
export async function start(environment: Record<string, string> = {}): Promise<void> {
  server = await startServer({ TMPDIR: directory, NODE_DISABLE_COMPILE_CACHE: '1', ...environment });
}

/** The process ids of workers, once they listen: their lines may come after the primary's. */
export function pids(...workers: number[]): Promise<number[]> {
  return Promise.all(workers.map((worker) => server.pidOfWorker(worker)));
}
