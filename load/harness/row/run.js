import { within } from '../process/child.js';
import { Fleet } from './fleet.js';
import { Peer } from './peer.js';
import { verdict } from './verdict.js';

/** No row takes longer than this; one that would is a failure, not a slow result. */
const MAX_ROW_MS = 300_000;

/**
 * Runs one peer through one cell of a benchmark, with a server and generators of its own.
 * @returns {Promise<{ peer: string, result?: object, valid?: boolean, note?: string, failed?: boolean }>}
 */
export async function runRow(benchmark, cell, name, quick) {
  let peer;
  let fleet;
  try {
    const { like = name, ...settings } = benchmark.peers?.[name] ?? {};
    peer = await Peer.start(like, { ...settings, ...cell.peer });
    if (peer.unavailable) return { peer: name, note: `not run: ${peer.unavailable}` };
    fleet = new Fleet(peer);
    const running = benchmark.run({ peer, fleet, cell, quick });
    const result = await within(benchmark.maxRowMs ?? MAX_ROW_MS, running, 'did not finish');
    return { peer: name, result, ...verdict(result) };
  } catch (error) {
    return { peer: name, note: `failed: ${error.message}`, failed: true };
  } finally {
    // The server first: the side that closes first keeps its port in TIME_WAIT, and the server's ports are not needed again.
    await peer?.stop();
    await fleet?.stop();
  }
}
