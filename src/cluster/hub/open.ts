import type { BackplaneEvents } from '../../backplanes/backplane.js';
import type { PubSub } from '../../backplanes/frames/machines/pub-sub.js';
import { framesChannel } from '../../backplanes/frames/machines/pub-sub.js';
import { Hub, type HubParts } from './hub.js';

/** Where a hub meets those of other machines. */
export interface HubAddress {
  readonly server: 'redis' | 'redis-cluster' | 'nats';
  readonly url: string;
  readonly credentials?: string | undefined;
  /** The prefix of the channels. */
  readonly prefix: string;
}

/** Opens the hub of a machine. */
export async function openHub(
  address: HubAddress,
  given: Pick<HubParts, 'machine' | 'workers' | 'window' | 'isLinked' | 'isThread'>,
): Promise<Hub> {
  let hub: Hub | undefined;
  const pubSub = await openPubSub(address, {
    onDown: (...details) => hub?.onDown(...details),
    onUp: () => hub?.onUp(),
    onOtherWire: (...details) => hub?.onOtherWire(...details),
    onGap: (...details) => hub?.onGap(...details),
  });
  const { prefix } = address;
  const channelOf = (part: number) => framesChannel(part === 0 ? prefix : `${prefix}:${part}`);
  hub = new Hub({ ...given, pubSub, channelOf });
  return hub;
}

async function openPubSub({ server, url, credentials, prefix }: HubAddress, events: BackplaneEvents): Promise<PubSub> {
  switch (server) {
    case 'redis': {
      const { RedisPubSub } = await import('../../backplanes/redis/frames.js');
      return new RedisPubSub(url, events, prefix);
    }
    case 'redis-cluster': {
      const { ShardedPubSub } = await import('../../backplanes/redis/frames.js');
      return new ShardedPubSub(url, events, prefix);
    }
    case 'nats': {
      const { NatsPubSub } = await import('../../backplanes/nats/pub-sub.js');
      return new NatsPubSub({ url, credentials }, events);
    }
  }
}
