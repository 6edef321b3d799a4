import { own } from '../../base/owner.js';
import type { BackplaneEvents } from '../backplanes/backplane.js';
import { framesChannel, hubsChannel, natsPackage } from '../backplanes/channels.js';
import { ConnectionHealth } from '../backplanes/connection-health.js';
import type { PubSub } from '../backplanes/pub-sub.js';
import { Hub, type HubParts } from './hub.js';
import { StatusBoard } from './hub-status.js';

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
  return address
    ? hubOn(await loadPubSub(address), address, given)
    : new Hub({ ...given, status: new StatusBoard(true) });
}

type GivenParts = Omit<HubParts, 'bridge' | 'status'>;
type OpenPubSub = (events: BackplaneEvents) => PubSub;

/** A hub on a server. */
export function hubOn(
  open: OpenPubSub,
  { prefix, withoutFrames }: Pick<HubAddress, 'prefix' | 'withoutFrames'>,
  given: GivenParts,
): Hub {
  const status = new StatusBoard();
  const pubSub = open(status);
  const channel = hubsChannel(prefix, withoutFrames);
  const emittersOf = (part: number) => framesChannel(part === 0 ? prefix : `${prefix}:${part}`);
  const bridge = { pubSub, channel, emittersOf: withoutFrames ? undefined : emittersOf };
  return new Hub({ ...given, status, bridge });
}

async function loadPubSub({ server, url, credentials }: HubAddress): Promise<OpenPubSub> {
  switch (server) {
    case 'redis': {
      const { RedisPubSub } = await import('../backplanes/redis/pub-sub.js');
      return (events) => new RedisPubSub(url, events);
    }
    case 'nats': {
      const { openPubSub } = await natsPackage();
      return (events) => openPubSub({ url, credentials }, { health: new ConnectionHealth(events), own });
    }
  }
}
