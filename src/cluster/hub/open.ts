import { own } from '../../base/owner.js';
import { framesChannel, hubsChannel, natsPackage } from '../backplanes/channels.js';
import { ConnectionHealth } from '../backplanes/connection-health.js';
import type { PubSub } from '../backplanes/pub-sub.js';
import { Hub, type HubParts } from './hub.js';

/** Where a hub meets those of other machines. */
export interface HubAddress {
  readonly server: 'redis' | 'nats';
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
export async function openHub(address: HubAddress | undefined, given: GivenParts): Promise<Hub> {
  return address ? hubOn(await openPubSub(address), address, given) : new Hub(given);
}

type GivenParts = Omit<HubParts, 'bridge'>;

/** A hub on a server. */
export function hubOn(
  pubSub: PubSub,
  { prefix, withoutFrames }: Pick<HubAddress, 'prefix' | 'withoutFrames'>,
  given: GivenParts,
): Hub {
  const channel = hubsChannel(prefix, withoutFrames);
  const emittersOf = (part: number) => framesChannel(part === 0 ? prefix : `${prefix}:${part}`);
  return new Hub({ ...given, bridge: { pubSub, channel, emittersOf: withoutFrames ? undefined : emittersOf } });
}

async function openPubSub({ server, url, credentials }: HubAddress): Promise<PubSub> {
  switch (server) {
    case 'redis': {
      const { RedisPubSub } = await import('../backplanes/redis/pub-sub.js');
      return new RedisPubSub(url);
    }
    case 'nats': {
      const nats = await natsPackage();
      return nats.openPubSub({ url, credentials }, { health: new ConnectionHealth('NATS'), own });
    }
  }
}
