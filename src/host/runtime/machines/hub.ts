import { Outage } from '../../../base/outage.js';
import type { ProcessHost } from '../../../base/process.js';
import { HubClient } from '../../../cluster/backplanes/frames/hub/hub-client.js';
import { type BusHealth, backplaneNameOf } from '../../../cluster/backplanes/index.js';
import { hubOnMesh } from '../../../cluster/hub/mesh-hub.js';
import type { HubAddress } from '../../../cluster/hub/open.js';
import type { Mesh } from '../../../cluster/mesh/mesh.js';
import type { RelayPart } from '../../../cluster/relay/relay.js';
import type { RunConfig } from '../../config/options.js';
import { type OutageWords, reportOutages, wordsOf } from '../backplane.js';
import type { Orders } from '../lifecycle/orders.js';
import { hubAddressOf } from './hub-address.js';

/** The link of a worker to its hub. */
export interface WorkerHub {
  readonly client: HubClient;
  /** The workers of other machines; undefined if there are none. Reports outages from now on. */
  machines(): OtherMachines | undefined;
  readonly linkOf: NonNullable<ProcessHost['hubLink']>;
}

/** The workers of other machines, behind the hub. */
export interface OtherMachines {
  /** The id of this machine. */
  readonly id: string;
  readonly health: BusHealth;
  /** The relay's way to them, for one of the engines of this worker. */
  relayPart(part: number): RelayPart;
  ready(): Promise<void>;
}

/** Prepares the link of a worker to the hub of its machine. Call it before the worker joins the mesh. */
export function openWorkerHub(config: RunConfig, mesh: Mesh, machine: string): WorkerHub {
  const address = hubAddressOf(config);
  const client = new HubClient(mesh.id, machine, hubOnMesh(mesh));
  const machines = () => {
    reportOutages(client.health, outageOf(config, address));
    return address && machinesBehind(client);
  };
  return { client, machines, linkOf: (service) => client.service(service) };
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

function machinesBehind(client: HubClient): OtherMachines {
  const { machine, health } = client;
  return {
    id: machine,
    health,
    relayPart: (part) => ({
      machine,
      get isUp() {
        return health.isUp;
      },
      send: (to, payload) => client.relay(part, to, payload),
      listen: (listener) => client.listenToRelay(part, listener),
    }),
    ready: () => health.whenUp(),
  };
}
