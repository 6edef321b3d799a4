// The servers that benchmarks compare, unless a benchmark names others. `program` is a file beside this one, or a folder of
// `foreign/`, if it is not the name; what else stands here are settings of that program.

const socketio = (base, more) => ({ program: 'socketio', base, ...more });
const nodes = (service, more) => ({ program: 'nodes', service, collects: true, ...more });

export const usualPeers = {
  'socketio-ws': socketio('ws'),
  'socketio-uws': socketio('uws'),
  uws: {},
  gjallar: socketio('gjallar'),
};

/** Those that run only when asked for by name, or where a benchmark says `also`. */
export const morePeers = {
  'socketio-recovery': socketio('ws', { recovers: true }),
  'socketio-cluster-2': nodes('cluster', { server: 'socketio', adapter: 'cluster', workers: 2, processes: 2 }),
  'gjallar-run-2': nodes('hosted', { workers: 2, processes: 2 }),
  'gjallar-machines-2': nodes('hosted', { nodes: 2, processes: 2 }),
  'gjallar-portable': socketio('swap', { sockets: 'portable' }),
  'gjallar-express': socketio('swap', { application: 'small-express' }),
  'ws-cluster': {},
  gorilla: {},
  netty: {},
  tungstenite: {},
};

/** The peer whose figures `--base` shows: gjallar on each of its bases. */
export const bases = { native: 'gjallar', portable: 'gjallar-portable', express: 'gjallar-express' };

export const peers = { ...usualPeers, ...morePeers };

/** The same for every server on Node.js: gjallar starts its workers with this one, and recommends it to applications. */
export const nodeFlags = ['--max-semi-space-size=2'];
