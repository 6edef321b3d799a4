import { workers } from './nodes.js';

const [cell] = workers.cells(true).filter(({ subscribers }) => subscribers === 1000);

const service = { program: 'gjallar-nodes', workers: 2, processes: 2, bus: 'embedded' };

/** What portable sockets cost on two workers. On one, the peer `gjallar-portable` shows it in the other benchmarks. */
export default {
  about: 'a room on two processes: stock socket.io, and the service on native and on portable sockets',
  peers: {
    'socketio-nodes-2': { program: 'socketio-nodes', nodes: 2, processes: 2 },
    'gjallar-workers-2': service,
    'gjallar-workers-2-portable': { ...service, env: { GJALLAR_SOCKETS: 'portable' } },
  },
  cells: () => [cell],
  columns: workers.columns,
  run: workers.run,
};
