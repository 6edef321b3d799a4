import { Machine } from '../../io/rooms/support/node.js';
import { stateOver } from './support/workers.suite.js';

const openBuses = async () => {
  const machine = await Machine.start();
  await machine.startHub('machine0');
  return { openBackplane: () => machine.openBackplane(), remove: () => machine.remove() };
};

stateOver('embedded', openBuses, false);
