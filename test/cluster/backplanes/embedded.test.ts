import { Machine } from '../../io/rooms/support/node.js';
import { busContract } from './bus.contract.js';
import { envelopes } from './support/garbage.js';

busContract(
  'embedded',
  async () => {
    const machine = await Machine.start();
    return {
      openBackplane: () => machine.openBackplane(),
      sendGarbage: async () => {
        await machine.send(envelopes);
        return envelopes.length;
      },
      remove: () => machine.remove(),
    };
  },
  { answersForTheDead: true },
);
