import { Machine } from '../rooms/support/node.js';
import { stateOver } from './support/workers.suite.js';

stateOver('embedded', async () => {
  const machine = await Machine.start();
  return { openBackplane: () => machine.openBackplane(), remove: () => machine.remove() };
});
