import { openRecovery } from '../recovery/recovery.js';
import type { Backplane, BackplaneEvents, BackplaneSurroundings } from './backplane.js';
import { embeddedBackplane } from './embedded/embedded.js';
import { redisBackplane } from './redis/classic.js';
import { redisShardedBackplane } from './redis/sharded.js';
import { redisStreamsBackplane } from './redis/streams.js';
import { redisFramesBackplane } from './redis-frames/redis-frames.js';

interface BackplaneKind {
  /** Whether it needs REDIS_URL. */
  needsRedis: boolean;
  /** Whether it connects several machines. */
  spansMachines: boolean;
  /** Whether every worker can be told of every broadcast, so that each can keep them for recovery. */
  keepsPackets: boolean;
  open(surroundings: BackplaneSurroundings): Backplane;
}

/** All backplanes, by the value of the option BUS. To add one, add it here and to the contract suite. */
const kinds = {
  embedded: {
    needsRedis: false,
    spansMachines: false,
    keepsPackets: true,
    open: ({ links, window, events }) => embeddedBackplane(links, window, events),
  },
  'redis-frames': { needsRedis: true, spansMachines: true, keepsPackets: true, open: redisFramesBackplane },
  redis: {
    needsRedis: true,
    spansMachines: true,
    keepsPackets: true,
    open: ({ url, events, prefix }) => redisBackplane(url, events, prefix),
  },
  'redis-sharded': {
    needsRedis: true,
    spansMachines: true,
    keepsPackets: false,
    open: ({ url, events, prefix }) => redisShardedBackplane(url, events, prefix),
  },
  'redis-streams': {
    needsRedis: true,
    spansMachines: true,
    keepsPackets: false,
    open: ({ url, events, prefix }) => redisStreamsBackplane(url, events, prefix),
  },
} as const satisfies Record<string, BackplaneKind>;

export type BackplaneName = keyof typeof kinds;

export const backplaneNames = Object.keys(kinds) as BackplaneName[];

export interface BackplaneChoice {
  readonly bus: BackplaneName | 'auto';
  readonly redisUrl: string | undefined;
}

/** The backplane that the configuration selects. `auto` means Redis if there is one, and otherwise embedded. */
export function backplaneNameOf({ bus, redisUrl }: BackplaneChoice): BackplaneName {
  if (bus !== 'auto') return bus;
  return redisUrl ? 'redis' : 'embedded';
}

/** The properties of a backplane, without opening it. */
export function backplaneKindOf(name: BackplaneName): Omit<BackplaneKind, 'open'> {
  return kinds[name];
}

/**
 * Opens the backplane that the configuration selects. Loading the configuration has checked its options. For servers
 * with the option `connectionStateRecovery`, the workers keep sessions and packets, unless the backplane does.
 */
export function openBackplane(choice: BackplaneChoice, surroundings: Omit<BackplaneSurroundings, 'url'>): Backplane {
  const { open, keepsPackets, spansMachines }: BackplaneKind = kinds[backplaneNameOf(choice)];
  const { events, recovery: options } = surroundings;
  const url = choice.redisUrl ?? '';
  if (!keepsPackets) return open({ ...surroundings, url });
  const recovery = openRecovery({
    ...options,
    spansMachines,
    subscribed: () => (spansMachines ? backplane.ready() : Promise.resolve()),
    onMalformed: (reason) => events.onMalformed?.(reason),
  });
  const backplane = open({ ...surroundings, url, events: reporting(events, () => recovery.lost()) });
  return {
    ...backplane,
    factory: recovery.wrap(backplane.factory),
    close: () => {
      recovery.close();
      backplane.close();
    },
  };
}

/** Reports the end of each outage, in which messages may have been lost. */
function reporting(events: BackplaneEvents, onLost: () => void): BackplaneEvents {
  let wasDown = false;
  return {
    ...events,
    onDown: (reason, rejected) => {
      wasDown = true;
      events.onDown(reason, rejected);
    },
    onUp: (unsent) => {
      if (wasDown) onLost();
      wasDown = false;
      events.onUp(unsent);
    },
  };
}
