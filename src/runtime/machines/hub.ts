import { HubClient } from '../../backplanes/frames/hub/hub-client.js';
import { turnWindow } from '../../backplanes/frames/links.js';
import { hubOnMesh } from '../../cluster/hub/mesh-hub.js';
import type { Mesh } from '../../cluster/mesh/mesh.js';
import type { RunConfig } from '../../config/run-options.js';
import { hasHubThread, hubAddressOf } from './hub-address.js';
import type { OtherMachines } from './open.js';

/** The link of a worker to its hub. */
export interface WorkerHub {
  readonly client: HubClient;
  close(): void;
}

/** Prepares the link of a worker to the hub of its machine. Call it before the worker joins the mesh. */
export async function openWorkerHub(config: RunConfig, mesh: Mesh, machine: string): Promise<WorkerHub | undefined> {
  const address = hubAddressOf(config);
  if (!address) return undefined;
  if (hasHubThread(config)) return { client: new HubClient(mesh.id, machine, hubOnMesh(mesh)), close: () => {} };
  const { linkInProcess } = await import('../../cluster/hub/own-hub.js');
  const { openHub } = await import('../../cluster/hub/open.js');
  const { link, workers } = linkInProcess(mesh.id);
  const client = new HubClient(mesh.id, machine, link);
  const hub = await openHub(address, { machine, workers, window: turnWindow() });
  return { client, close: () => hub.close() };
}

/** The relay's way to workers of other machines. */
export function machinesBehind({ client, close }: WorkerHub): OtherMachines {
  const { machine, health } = client;
  return {
    id: machine,
    links: {
      part: (part) => ({
        machine,
        get isUp() {
          return health.isUp;
        },
        send: (to, payload) => client.relay(part, to, payload),
        listen: (listener) => client.listenToRelay(part, listener),
      }),
    },
    traffic: health,
    ready: () => health.whenUp(),
    close,
  };
}
