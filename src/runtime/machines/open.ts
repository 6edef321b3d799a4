import type { Logger } from 'pino';
import { MachineLinks } from '../../cluster/machines/machine-links.js';
import { redisNamesOf } from '../../config/redis-names.js';
import type { RunConfig } from '../../config/run-options.js';
import type { BackplaneTraffic } from '../../rooms/backplanes/backplane.js';
import { backplaneKindOf, backplaneNameOf } from '../../rooms/backplanes/registry.js';
import { workerName } from '../../worker-links.js';
import { outageEvents } from '../backplane.js';
import type { MalformedMessages } from '../malformed.js';
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
 * Links this worker with the workers of other machines, over the Redis of the backplane.
 * @returns undefined if the backplane does not span machines
 */
export function openMachines(
  config: RunConfig,
  name: { worker: number; machine: string },
  worker: { problems: Set<string>; malformed: MalformedMessages; log: Logger },
): OtherMachines | undefined {
  const bus = backplaneNameOf(config);
  if (!config.redisUrl || !backplaneKindOf(bus).spansMachines) return undefined;
  const { machine } = name;
  const id = workerName(name.worker, machine);
  const effect = 'requests for sessions of other machines fail';
  const texts = { down: effect, rejected: effect, up: 'the relay to other machines is up' };
  const channels = redisChannels({
    url: config.redisUrl,
    isCluster: bus === 'redis-sharded',
    prefix: redisNamesOf(config).channels,
    name: id,
    events: outageEvents({ relay: 'redis' }, texts, worker),
  });
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
