import type { WorkerLinks } from '../../worker-links.js';
import type { Backplane, BackplaneEvents } from './backplane.js';
import { embeddedBackplane } from './embedded/embedded.js';
import { redisBackplane } from './redis/classic.js';
import { redisShardedBackplane } from './redis/sharded.js';
import { redisStreamsBackplane } from './redis/streams.js';

/** The parts that a backplane is opened with. */
export interface BackplaneSurroundings {
  /** The links to the other workers of this machine. */
  links: WorkerLinks;
  /** The URL of the server that it depends on; empty if there is none. */
  url: string;
  /** The prefix of the channels, and the name of the stream. */
  prefix: string;
  events: BackplaneEvents;
}

interface BackplaneKind {
  /** Whether it needs REDIS_URL. */
  needsRedis: boolean;
  /** Whether it connects several machines. */
  spansMachines: boolean;
  open(surroundings: BackplaneSurroundings): Backplane;
}

/** All backplanes, by the value of the option BUS. To add one, add it here and to the contract suite. */
const kinds = {
  embedded: { needsRedis: false, spansMachines: false, open: ({ links, events }) => embeddedBackplane(links, events) },
  redis: {
    needsRedis: true,
    spansMachines: true,
    open: ({ url, events, prefix }) => redisBackplane(url, events, prefix),
  },
  'redis-sharded': {
    needsRedis: true,
    spansMachines: true,
    open: ({ url, events, prefix }) => redisShardedBackplane(url, events, prefix),
  },
  'redis-streams': {
    needsRedis: true,
    spansMachines: true,
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

/** Opens the backplane that the configuration selects. Loading the configuration has checked its options. */
export function openBackplane(choice: BackplaneChoice, surroundings: Omit<BackplaneSurroundings, 'url'>): Backplane {
  return kinds[backplaneNameOf(choice)].open({ ...surroundings, url: choice.redisUrl ?? '' });
}
