import type { Backplane, BackplaneSurroundings } from './backplane.js';

type Open = (surroundings: BackplaneSurroundings) => Backplane;

interface BackplaneKind {
  /** The server that it depends on; undefined if there is none. */
  server: 'Redis' | 'NATS' | undefined;
  /** Whether it connects several machines. */
  spansMachines: boolean;
  /** Whether it uses sharded pub/sub, which requires a Redis Cluster. */
  isSharded?: true;
  /** What the hub of each machine connects with; undefined if machines are alone. */
  hub?: 'redis' | 'redis-cluster' | 'nats';
  /** Whether hubs carry the frames of rooms; if not, workers connect by themselves, too. */
  framesByHub?: true;
  /** Loads its code and the client of its server. With Redis, that is a third of what a worker loads. */
  load(): Promise<Open>;
}

async function loadHub(name: string): Promise<Open> {
  const { hubBackplane } = await import('./frames/hub/open.js');
  return (surroundings) => hubBackplane(name, surroundings);
}

/** All backplanes, by the value of the option BUS. To add one, add it here and to the contract suite. */
const kinds = {
  embedded: {
    server: undefined,
    spansMachines: false,
    load: async () => {
      const { embeddedBackplane } = await import('./embedded/embedded.js');
      return ({ links, window }) => embeddedBackplane(links, window);
    },
  },
  'redis-frames': {
    server: 'Redis',
    spansMachines: true,
    hub: 'redis',
    load: async () => (await import('./redis/frames.js')).redisFramesBackplane,
  },
  'redis-frames-sharded': {
    server: 'Redis',
    spansMachines: true,
    isSharded: true,
    hub: 'redis-cluster',
    load: async () => (await import('./redis/frames.js')).shardedFramesBackplane,
  },
  'redis-hub': {
    server: 'Redis',
    spansMachines: true,
    hub: 'redis',
    framesByHub: true,
    load: () => loadHub('redis-hub'),
  },
  'redis-hub-sharded': {
    server: 'Redis',
    spansMachines: true,
    isSharded: true,
    hub: 'redis-cluster',
    framesByHub: true,
    load: () => loadHub('redis-hub-sharded'),
  },
  'nats-hub': {
    server: 'NATS',
    spansMachines: true,
    hub: 'nats',
    framesByHub: true,
    load: () => loadHub('nats-hub'),
  },
  redis: {
    server: 'Redis',
    spansMachines: true,
    hub: 'redis',
    load: async () => {
      const { redisBackplane } = await import('./redis/classic.js');
      return ({ url, events, prefix }) => redisBackplane(url, events, prefix);
    },
  },
  nats: {
    server: 'NATS',
    spansMachines: true,
    hub: 'nats',
    load: async () => (await import('./nats/pub-sub.js')).natsBackplane,
  },
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
  const mayShard = name === 'redis-frames' || name === 'redis-hub';
  return mayShard && (isCluster || redisUrl?.includes(',')) ? `${name}-sharded` : name;
}

function automatic(natsUrl: string | undefined, redisUrl: string | undefined): BackplaneName {
  if (natsUrl) return 'nats';
  return redisUrl ? 'redis-frames' : 'embedded';
}

/** The properties of a backplane. */
export function backplaneKindOf(name: BackplaneName): BackplaneKind {
  return kinds[name];
}
