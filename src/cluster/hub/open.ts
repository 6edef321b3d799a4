import type { BackplaneEvents } from '../../backplanes/backplane.js';
import type { PubSub } from '../../backplanes/frames/machines/pub-sub.js';
import { framesChannel, hubsChannel } from '../../backplanes/frames/machines/pub-sub.js';
import { Hub, type HubParts } from './hub.js';

/** Where a hub meets those of other machines. */
export interface HubAddress {
  readonly server: 'redis' | 'redis-cluster' | 'nats';
  readonly url: string;
  readonly credentials?: string | undefined;
  /** The prefix of the channels. */
  readonly prefix: string;
  /** Whether hubs carry only the relay and the services, and workers have a wire of their own for rooms. */
  readonly withoutFrames?: boolean;
}

/**
 * Opens the hub of a machine.
 * @param address undefined if the machine is alone
 */
export async function openHub(address: HubAddress | undefined, given: Omit<HubParts, 'bridge'>): Promise<Hub> {
  if (!address) return new Hub(given);
  let hub: Hub | undefined;
  const pubSub = await openPubSub(address, {
    onDown: (...details) => hub?.onDown(...details),
    onUp: () => hub?.onUp(),
    onOtherWire: (...details) => hub?.onOtherWire(...details),
    onGap: (...details) => hub?.onGap(...details),
  });
  const { prefix, withoutFrames } = address;
  const emittersOf = (part: number) => framesChannel(part === 0 ? prefix : `${prefix}:${part}`);
  const bridge = {
    pubSub,
    channel: hubsChannel(prefix, withoutFrames),
    emittersOf: withoutFrames ? undefined : emittersOf,
  };
  hub = new Hub({ ...given, bridge });
  return hub;
}

async function openPubSub(
  { server, url, credentials, prefix, withoutFrames }: HubAddress,
  events: BackplaneEvents,
): Promise<PubSub> {
  switch (server) {
    case 'redis': {
      const { RedisPubSub } = await import('../../backplanes/redis/frames.js');
      return new RedisPubSub(url, events, withoutFrames ? undefined : prefix);
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
