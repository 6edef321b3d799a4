import { connect } from '@nats-io/transport-node';
import { own } from '../../src/base/owner.js';
import type { Backplane } from '../../src/cluster/backplanes/backplane.js';
import { ConnectionHealth } from '../../src/cluster/backplanes/connection-health.js';
import { hubFrames, notPayloads } from '../../test/cluster/backplanes/support/garbage.js';
import { onOwnHub } from '../../test/io/rooms/support/node.js';
import { subjectOf } from '../src/address.js';
import { openPubSub } from '../src/pub-sub.js';

/** A worker that is alone on its machine, on NATS. */
export function onNats(
  url: string,
  { prefix = 'gjallar', credentials }: { prefix?: string; credentials?: string } = {},
): Backplane {
  const pubSub = openPubSub({ url, credentials }, { health: new ConnectionHealth('NATS'), own });
  return onOwnHub('nats', pubSub, prefix);
}

/** Sends what no hub would send, and payloads that are no messages besides. Resolves with how many each worker must at least drop. */
export async function onNatsHubs(url: string): Promise<number> {
  const connection = await connect({ servers: url });
  const { all, each } = hubFrames();
  for (const [channel, bytes] of all) {
    connection.publish(subjectOf(channel), Buffer.concat([Buffer.of(0), bytes]));
  }
  for (const payload of notPayloads) connection.publish('socket.io.frames.hubs', Buffer.from(payload));
  await connection.drain();
  return each;
}
