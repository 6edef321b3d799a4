import { hubMachinesOn } from '../rooms/support/node.js';
import { NatsProcess } from '../support/nats.js';
import { RedisProcess } from '../support/redis.js';
import { busContract } from './bus.contract.js';
import { onHubs, onNatsHubs } from './support/garbage.js';

busContract('redis-hub', async () => {
  const redis = await RedisProcess.start();
  const machines = await hubMachinesOn('redis-hub', { server: 'redis', url: redis.url, prefix: 'socket.io' });
  return {
    openBackplane: machines.openBackplane,
    sendGarbage: () => onHubs(redis.url),
    remove: async () => {
      await machines.remove();
      await redis.remove();
    },
  };
});

busContract('nats-hub', async () => {
  const nats = await NatsProcess.start();
  const machines = await hubMachinesOn('nats-hub', { server: 'nats', url: nats.url, prefix: 'socket.io' });
  return {
    openBackplane: machines.openBackplane,
    sendGarbage: () => onNatsHubs(nats.url),
    remove: async () => {
      await machines.remove();
      await nats.remove();
    },
  };
});
