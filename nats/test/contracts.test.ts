import { expect, test } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { Emitter } from '../../src/cluster/emitter/index.js';
import { busContract } from '../../test/cluster/backplanes/bus.contract.js';
import { emitterContract, GARBAGE } from '../../test/cluster/emitter/emitter.contract.js';
import { disconnectAll, pairOn } from '../../test/io/rooms/support/clients.js';
import { machinesOn, startMember } from '../../test/io/rooms/support/node.js';
import { nextEvent } from '../../test/support/clients.js';
import { NatsProcess } from '../../test/support/nats.js';
import { natsConnection } from '../src/emitter.js';
import { onNats, onNatsHubs } from './support.js';

busContract('nats', async () => {
  const nats = await NatsProcess.start();
  const machines = await machinesOn('nats', { server: 'nats', url: nats.url, prefix: 'socket.io' });
  return {
    openBackplane: machines.openBackplane,
    sendGarbage: () => onNatsHubs(nats.url),
    remove: async () => {
      await machines.remove();
      await nats.remove();
    },
  };
});

emitterContract('nats', async () => {
  const nats = await NatsProcess.start();
  const client = await connect({ servers: nats.url });
  const machines = await machinesOn('nats', { server: 'nats', url: nats.url, prefix: 'gjallar' });
  return {
    openBackplane: machines.openBackplane,
    emitter: new Emitter(natsConnection(client)),
    sendGarbage: async () => {
      for (const bytes of GARBAGE) client.publish('gjallar.frames', Buffer.concat([Buffer.of(0), bytes]));
      // The hub drops the other two.
      return GARBAGE.length - 2;
    },
    remove: async () => {
      await client.close();
      await machines.remove();
      await nats.remove();
    },
  };
});

test('a message of an emitter may be longer than NATS accepts', async () => {
  const nats = await NatsProcess.start();
  const client = await connect({ servers: nats.url });
  const member = await startMember(onNats(nats.url, { prefix: 'app' }));
  try {
    const pair = await pairOn(member);
    const event = nextEvent(pair.client, 'long');
    const emitter = new Emitter(natsConnection(client), { key: 'app' });
    emitter.emit('long', 'x'.repeat(3_000_000));
    expect(await emitter.flush()).toEqual({ subscribers: undefined });
    expect((await event)[0]).toHaveLength(3_000_000);
  } finally {
    disconnectAll();
    await member.close();
    await client.close();
    await nats.remove();
  }
});
