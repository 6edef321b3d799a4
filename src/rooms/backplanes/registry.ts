import { openRecovery } from '../recovery/recovery.js';
import type { Backplane, BackplaneEvents, BackplaneSurroundings } from './backplane.js';
import { embeddedBackplane } from './embedded/embedded.js';
import { natsBackplane } from './nats/nats.js';
import { redisBackplane } from './redis/classic.js';
import { redisShardedBackplane } from './redis/sharded.js';
import { redisStreamsBackplane } from './redis/streams.js';
import { redisFramesBackplane, shardedFramesBackplane } from './redis-frames/redis-frames.js';

interface BackplaneKind {
  /** The server that it depends on; undefined if there is none. */
  server: 'Redis' | 'NATS' | undefined;
  /** Whether it connects several machines. */
  spansMachines: boolean;
  /** Whether every worker can be told of every broadcast, so that each can keep them for recovery. */
  keepsPackets: boolean;
  /** Whether it uses sharded pub/sub, which requires a Redis Cluster. */
  isSharded?: true;
  open(surroundings: BackplaneSurroundings): Backplane;
}

/** All backplanes, by the value of the option BUS. To add one, add it here and to the contract suite. */
const kinds = {
  embedded: {
    server: undefined,
    spansMachines: false,
    keepsPackets: true,
    open: ({ links, window, events }) => embeddedBackplane(links, window, events),
  },
  'redis-frames': { server: 'Redis', spansMachines: true, keepsPackets: true, open: redisFramesBackplane },
  'redis-frames-sharded': {
    server: 'Redis',
    spansMachines: true,
    keepsPackets: true,
    isSharded: true,
    open: shardedFramesBackplane,
  },
  redis: {
    server: 'Redis',
    spansMachines: true,
    keepsPackets: true,
    open: ({ url, events, prefix }) => redisBackplane(url, events, prefix),
  },
  'redis-sharded': {
    server: 'Redis',
    spansMachines: true,
    keepsPackets: false,
    isSharded: true,
    open: ({ url, events, prefix }) => redisShardedBackplane(url, events, prefix),
  },
  'redis-streams': {
    server: 'Redis',
    spansMachines: true,
    keepsPackets: false,
    open: ({ url, events, prefix }) => redisStreamsBackplane(url, events, prefix),
  },
  nats: { server: 'NATS', spansMachines: true, keepsPackets: true, open: natsBackplane },
} as const satisfies Record<string, BackplaneKind>;

export type BackplaneName = keyof typeof kinds;

export const backplaneNames = Object.keys(kinds) as BackplaneName[];

export interface BackplaneChoice {
  readonly bus: BackplaneName | 'auto';
  readonly redisUrl: string | undefined;
  readonly natsUrl?: string | undefined;
  readonly natsCreds?: string | undefined;
}

/**
 * The backplane that the configuration selects. `auto` means frames: through NATS if there is one, otherwise through Redis
 * if there is one, and otherwise on this machine alone.
 * @param isCluster whether REDIS_URL is known to name a node of a Redis Cluster, whose sharded pub/sub is used then
 */
export function backplaneNameOf({ bus, redisUrl, natsUrl }: BackplaneChoice, isCluster = false): BackplaneName {
  const name = bus === 'auto' ? automatic(natsUrl, redisUrl) : bus;
  return name === 'redis-frames' && (isCluster || redisUrl?.includes(',')) ? 'redis-frames-sharded' : name;
}

function automatic(natsUrl: string | undefined, redisUrl: string | undefined): BackplaneName {
  if (natsUrl) return 'nats';
  return redisUrl ? 'redis-frames' : 'embedded';
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
  const name = backplaneNameOf(choice);
  const { open, keepsPackets, spansMachines }: BackplaneKind = kinds[name];
  const { redisUrl = '', natsUrl = '', natsCreds } = choice;
  const address = name === 'nats' ? { url: natsUrl, credentials: natsCreds } : { url: redisUrl };
  const { events, recovery: options } = surroundings;
  if (!keepsPackets) return open({ ...surroundings, ...address });
  const recovery = openRecovery({
    ...options,
    spansMachines,
    subscribed: () => (spansMachines ? backplane.ready() : Promise.resolve()),
    onMalformed: (reason) => events.onMalformed?.(reason),
  });
  const backplane = open({ ...surroundings, ...address, events: reporting(events, () => recovery.lost()) });
  return {
    ...backplane,
    get recovery() {
      return recovery.state;
    },
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
