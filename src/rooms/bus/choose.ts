import type { Config } from '../../config/options.js';
import type { Bus, BusEvents } from './bus.js';
import { embeddedBus, type WorkerLinks } from './embedded.js';
import { redisBus } from './redis.js';
import { redisShardedBus } from './redis-sharded.js';
import { redisStreamsBus } from './redis-streams.js';

export type BusName = Exclude<Config['bus'], 'auto'>;

/** The bus that the configuration asks for: `auto` is Redis where there is one, or else this machine alone. */
export function busNameOf({ bus, redisUrl }: Pick<Config, 'bus' | 'redisUrl'>): BusName {
  if (bus !== 'auto') return bus;
  return redisUrl ? 'redis' : 'embedded';
}

/**
 * Opens the bus that the configuration asks for. That the two go together was checked with the configuration.
 * @param links what the embedded bus runs on
 */
export function openBus(config: Pick<Config, 'bus' | 'redisUrl'>, links: WorkerLinks, events: BusEvents): Bus {
  const open: Record<BusName, () => Bus> = {
    embedded: () => embeddedBus(links),
    redis: () => redisBus(config.redisUrl!, events),
    'redis-sharded': () => redisShardedBus(config.redisUrl!, events),
    'redis-streams': () => redisStreamsBus(config.redisUrl!, events),
  };
  return open[busNameOf(config)]();
}
