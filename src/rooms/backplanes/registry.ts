import type { Bus, BusEvents } from './backplane.js';
import { embeddedBus, type WorkerLinks } from './embedded/embedded.js';
import { redisBus } from './redis/classic.js';
import { redisShardedBus } from './redis/sharded.js';
import { redisStreamsBus } from './redis/streams.js';

/** The values of the option BUS. */
export type BusName = 'embedded' | 'redis' | 'redis-sharded' | 'redis-streams';

export interface BusChoice {
  readonly bus: BusName | 'auto';
  readonly redisUrl: string | undefined;
}

/** The bus that the configuration asks for: `auto` is Redis where there is one, or else this machine alone. */
export function busNameOf({ bus, redisUrl }: BusChoice): BusName {
  if (bus !== 'auto') return bus;
  return redisUrl ? 'redis' : 'embedded';
}

/**
 * Opens the bus that the configuration asks for. That the two go together was checked with the configuration.
 * @param links what the embedded bus runs on
 */
export function openBus(config: BusChoice, links: WorkerLinks, events: BusEvents): Bus {
  const open: Record<BusName, () => Bus> = {
    embedded: () => embeddedBus(links),
    redis: () => redisBus(config.redisUrl!, events),
    'redis-sharded': () => redisShardedBus(config.redisUrl!, events),
    'redis-streams': () => redisStreamsBus(config.redisUrl!, events),
  };
  return open[busNameOf(config)]();
}
