import type { WorkerLinks } from '../../worker-links.js';
import type { Backplane, BackplaneEvents } from './backplane.js';
import { embeddedBackplane } from './embedded/embedded.js';
import { redisBackplane } from './redis/classic.js';
import { redisShardedBackplane } from './redis/sharded.js';
import { redisStreamsBackplane } from './redis/streams.js';

/** The values of the option BUS. */
export type BackplaneName = 'embedded' | 'redis' | 'redis-sharded' | 'redis-streams';

export interface BackplaneChoice {
  readonly bus: BackplaneName | 'auto';
  readonly redisUrl: string | undefined;
}

/** The bus that the configuration asks for: `auto` is Redis where there is one, or else this machine alone. */
export function backplaneNameOf({ bus, redisUrl }: BackplaneChoice): BackplaneName {
  if (bus !== 'auto') return bus;
  return redisUrl ? 'redis' : 'embedded';
}

/**
 * Opens the bus that the configuration asks for. That the two go together was checked with the configuration.
 * @param links what the embedded bus runs on
 */
export function openBackplane(config: BackplaneChoice, links: WorkerLinks, events: BackplaneEvents): Backplane {
  const open: Record<BackplaneName, () => Backplane> = {
    embedded: () => embeddedBackplane(links),
    redis: () => redisBackplane(config.redisUrl!, events),
    'redis-sharded': () => redisShardedBackplane(config.redisUrl!, events),
    'redis-streams': () => redisStreamsBackplane(config.redisUrl!, events),
  };
  return open[backplaneNameOf(config)]();
}
