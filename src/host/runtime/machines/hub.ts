import { Outage } from '../../../base/outage.js';
import { backplaneNameOf } from '../../../cluster/backplanes/index.js';
import type { HubAddress } from '../../../cluster/hub/open.js';
import type { Mesh } from '../../../cluster/mesh/mesh.js';
import { Node } from '../../../cluster/node.js';
import type { RunConfig } from '../../config/options.js';
import { type OutageWords, reportOutages, wordsOf } from '../backplane.js';
import type { Orders } from '../lifecycle/orders.js';
import { hubAddressOf } from './hub-address.js';

/** A worker among all others that it can reach. Call it before the worker joins the mesh. */
export function openNode(config: RunConfig, mesh: Mesh, machine: string): Node {
  return new Node(mesh, machine, hubAddressOf(config) === undefined);
}

/** Reports the outages of the hub, and of its server, from now on. */
export function reportHub({ health }: Node, config: RunConfig): void {
  reportOutages(health, outageOf(config, hubAddressOf(config)));
}

/** What an outage of the hub, or of its server, is to the worker. */
function outageOf(config: RunConfig, address: HubAddress | undefined): OutageWords {
  // On a machine without others, nothing but the end of the hub itself can be down.
  if (!address)
    return { effect: 'state rooms and connection state recovery wait for it', over: 'the hub is there again' };
  if (!address.withoutFrames) return wordsOf(backplaneNameOf(config));
  const over = 'the relay to other machines is up';
  const effect = 'requests for sessions of other machines fail';
  return { effect, over, fields: { relay: address.server }, saysFirst: true };
}

/** Reports a hub that hangs: the primary watches it. */
export function reportSilence(orders: Orders): void {
  const outage = new Outage({ over: 'the hub no longer hangs' });
  const text =
    'the hub of this machine does not respond: rooms and state rooms wait for it, and other machines are out of reach';
  orders.on('hub', ({ isSilent }) => (isSilent ? outage.begin({ code: 'HUB_SILENT', text }) : outage.end()));
}
