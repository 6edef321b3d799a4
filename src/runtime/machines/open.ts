import type { Logger } from 'pino';
import { workerName } from '../../cluster/machines/frames.js';
import { MachineLinks } from '../../cluster/machines/machine-links.js';
import { redisNamesOf } from '../../config/redis-names.js';
import type { RunConfig } from '../../config/run-options.js';
import type { BackplaneTraffic } from '../../rooms/backplanes/backplane.js';
import { backplaneKindOf, backplaneNameOf } from '../../rooms/backplanes/registry.js';
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
  { worker, machine }: { worker: number; machine: string },
  { problems, malformed, log }: { problems: Set<string>; malformed: MalformedMessages; log: Logger },
): OtherMachines | undefined {
  const bus = backplaneNameOf(config);
  if (!config.redisUrl || !backplaneKindOf(bus).spansMachines) return undefined;
  let problem = '';
  const channels = redisChannels({
    url: config.redisUrl,
    isCluster: bus === 'redis-sharded',
    prefix: redisNamesOf(config).channels,
    name: workerName(worker, machine),
    events: {
      onDown: (reason, rejected) => {
        problems.delete(problem);
        problem = rejected
          ? `Redis rejects the command ${rejected}: requests for sessions of other machines fail`
          : 'Redis is unreachable: requests for sessions of other machines fail';
        problems.add(problem);
        log.error({ relay: 'redis', reason }, problem);
      },
      onUp: (unsent) => {
        problems.delete(problem);
        log.info({ relay: 'redis', unsent }, 'the relay to other machines is up');
      },
    },
  });
  const links = new MachineLinks(workerName(worker, machine), machine, channels);
  links.onMalformed = (reason) => malformed.note('relay', reason);
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
