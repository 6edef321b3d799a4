import { HubThread } from '../../../src/cluster/hub/hub-thread.js';
import type { HubAddress } from '../../../src/cluster/hub/open.js';

const unwatched = { began: () => {}, started: () => {}, heard: () => {}, forget: () => {} };

/**
 * The thread of a hub that no primary watches.
 * @param workers those that accept links
 * @param logged gets its lines of errors
 */
export function hubThread(
  directory: string,
  machine: string,
  workers: number[],
  { address, logged = [] }: { address?: HubAddress; logged?: string[] } = {},
): HubThread {
  return new HubThread(new URL('../../../build/cluster/hub/thread.js', import.meta.url), {
    ...{ directory, machine, address, meshed: () => workers, onStuck: () => {}, watchdog: unwatched },
    log: { error: (_fields: object, text: string) => logged.push(text) } as never,
  });
}
