import type { Logger } from 'pino';
import { MachineLinks } from '../../cluster/machines/machine-links.js';
import type { RunConfig } from '../../config/run-options.js';
import type { BackplaneTraffic } from '../../rooms/backplanes/backplane.js';
import { backplaneKindOf, backplaneNameOf } from '../../rooms/backplanes/registry.js';
import { workerName } from '../../worker-links.js';
import { channelPrefixOf, outageEvents } from '../backplane.js';
import type { MalformedMessages } from '../malformed.js';
import type { WorkerChannels } from './channels.js';
import { natsChannels } from './nats-channels.js';
import { redisChannels } from './redis-channels.js';

/** The links of this worker to the workers of other machines. */
export interface OtherMachines {
  /** The id of this machine. */
  readonly id: string;
  readonly links: MachineLinks;
  readonly traffic: BackplaneTraffic;
  ready(): Promise<void>;
  close(): void;
}

/**
 * Links this worker with the workers of other machines, over the server of the backplane.
 * @returns undefined if the backplane does not span machines
 */
export function openMachines(
  config: RunConfig,
  name: { worker: number; machine: string },
  worker: { problems: Set<string>; malformed: MalformedMessages; log: Logger },
): OtherMachines | undefined {
  if (!backplaneKindOf(backplaneNameOf(config)).spansMachines) return undefined;
  const { machine } = name;
  const id = workerName(name.worker, machine);
  const channels = openChannels(config, id, worker);
  const links = new MachineLinks(id, machine, channels);
  links.onMalformed = (reason) => worker.malformed.note('relay', reason);
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
}

/** The channels that the workers of all machines send each other requests over. */
function openChannels(config: RunConfig, name: string, worker: Parameters<typeof outageEvents>[3]): WorkerChannels {
  const { redisUrl = '', natsUrl = '', natsCreds: credentials } = config;
  const bus = backplaneNameOf(config);
  const effect = 'requests for sessions of other machines fail';
  const texts = { down: effect, rejected: effect, up: 'the relay to other machines is up' };
  const prefix = channelPrefixOf(config);
  if (bus === 'nats') {
    const events = outageEvents('NATS', { relay: 'nats' }, texts, worker);
    return natsChannels({ address: { url: natsUrl, credentials }, prefix, name, events });
  }
  const events = outageEvents('Redis', { relay: 'redis' }, texts, worker);
  return redisChannels({ url: redisUrl, isCluster: backplaneKindOf(bus).isSharded === true, prefix, name, events });
}
