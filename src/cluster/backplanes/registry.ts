import type { Backplane, BackplaneSurroundings } from './backplane.js';

type Open = (surroundings: BackplaneSurroundings) => Backplane;

interface BackplaneKind {
  /** The server that it depends on; undefined if there is none. */
  server: 'Redis' | 'NATS' | undefined;
  /** What the hub of each machine connects with; undefined if machines are alone. */
  hub?: 'redis' | 'nats';
  /** Whether rooms use the wire of `@socket.io/redis-adapter`, for which workers connect by themselves, too. */
  isClassic?: true;
  /** Loads its code and the client of its server. With Redis, that is a third of what a worker loads. */
  load(): Promise<Open>;
}

async function loadFrames(name: string): Promise<Open> {
  const { framesBackplane } = await import('./frames/open.js');
  return (surroundings) => framesBackplane(name, surroundings);
}

/** All backplanes, by the value of the option BUS. To add one, add it here and to the contract suite. */
const kinds = {
  embedded: {
    server: undefined,
    load: () => loadFrames('embedded'),
  },
  'redis-frames': { server: 'Redis', hub: 'redis', load: () => loadFrames('redis-frames') },
  redis: {
    ...{ server: 'Redis', hub: 'redis', isClassic: true },
    load: async () => {
      const { redisBackplane } = await import('./redis/classic.js');
      return ({ url, prefix }) => redisBackplane(url, prefix);
    },
  },
  nats: { server: 'NATS', hub: 'nats', load: () => loadFrames('nats') },
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
 */
export function backplaneNameOf({ bus, redisUrl, natsUrl }: BackplaneChoice): BackplaneName {
  return bus === 'auto' ? automatic(natsUrl, redisUrl) : bus;
}

function automatic(natsUrl: string | undefined, redisUrl: string | undefined): BackplaneName {
  if (natsUrl) return 'nats';
  return redisUrl ? 'redis-frames' : 'embedded';
}

/** The properties of a backplane. */
export function backplaneKindOf(name: BackplaneName): BackplaneKind {
  return kinds[name];
}
