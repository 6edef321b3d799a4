import { shown } from '../shown.js';
import { APPLICATION } from './room.js';
import { roomsColumns, runRooms } from './rooms.js';

const CLIENTS = 500;
const MEMBERS = 10;

/** What a message costs in small rooms on one worker: there, a window has few messages for each subscriber. */
export default {
  about: `${CLIENTS} clients in rooms of ${MEMBERS} whose members publish`,
  cells: (quick) =>
    (quick ? [5000] : [1000, 5000, 10_000]).map((perSecond) => ({
      label: `rooms of ${MEMBERS}, ${shown(perSecond)} messages/s`,
      clients: CLIENTS,
      members: MEMBERS,
      perSecond,
      dialect: APPLICATION,
    })),
  columns: roomsColumns.filter(({ key }) => key !== 'brokerPerMessage' && key !== 'frames'),
  run: runRooms,
};
