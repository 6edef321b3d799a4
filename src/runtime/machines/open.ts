import { type BackplaneTraffic, backplaneKindOf, backplaneNameOf } from '../../backplanes/index.js';
import { workerName } from '../../base/worker-links.js';
import { MachineLinks } from '../../cluster/machines/machine-links.js';
import type { RunConfig } from '../../config/run-options.js';
import { channelPrefixOf, outageEvents } from '../backplane.js';
import type { WorkerChannels } from './channels.js';

/** The links of this worker to the workers of other machines. */
export interface OtherMachines {
  /** The id of this machine. */
  readonly id: string;
  readonly links: Pick<MachineLinks, 'part'>;
  readonly traffic: BackplaneTraffic;
  ready(): Promise<void>;
  close(): void;
}

type Name = { worker: number; machine: string };

/** Links a worker with the workers of other machines; undefined if the backplane does not span machines. */
export type OpenMachines = (name: Name) => OtherMachines | undefined;

/** Loads what links workers over the server of the backplane. */
export async function loadMachines(config: RunConfig): Promise<OpenMachines> {
  const { spansMachines, hub } = backplaneKindOf(backplaneNameOf(config));
  // With a hub, the relay goes through it.
  if (!spansMachines || hub) return () => undefined;
  const openChannels = await loadChannels(config);
  return ({ worker: number, machine }) => {
    const id = workerName(number, machine);
    const channels = openChannels(id);
    const links = new MachineLinks(id, machine, channels);
    return {
      id: machine,
      links,
      traffic: channels.traffic,
      ready: channels.ready,
      close: () => {
        links.close();
        channels.close();
      },
    };
  };
}

/** Loads the channels that the workers of all machines send each other requests over. */
async function loadChannels(config: RunConfig): Promise<(name: string) => WorkerChannels> {
  const { redisUrl = '', natsUrl = '', natsCreds: credentials } = config;
  const bus = backplaneNameOf(config);
  const effect = 'requests for sessions of other machines fail';
  const texts = { down: effect, rejected: effect, up: 'the relay to other machines is up' };
  const prefix = channelPrefixOf(config);
  if (bus === 'nats') {
    const { natsChannels } = await import('./nats-channels.js');
    return (name) => {
      const events = outageEvents('NATS', { relay: 'nats' }, texts);
      return natsChannels({ address: { url: natsUrl, credentials }, prefix, name, events });
    };
  }
  const { redisChannels } = await import('./redis-channels.js');
  const isCluster = backplaneKindOf(bus).isSharded === true;
  return (name) => {
    const events = outageEvents('Redis', { relay: 'redis' }, texts);
    return redisChannels({ url: redisUrl, isCluster, prefix, name, events });
  };
}
