import { isSaturated, spread } from './groups.js';
import { markdownTable, shown } from './table.js';

/** What is shown of one cell, `peers` being the two that are compared and `text` what is said of each. */
const lines = [
  { about: 'to connect a client', workload: 'connect', text: (read) => micros(read('cpuPerConnect')) },
  {
    about: 'memory of a connected client',
    workload: 'connect',
    text: (read) => `${shown(read('rssPerClient') / 1000, 1)} KB`,
  },
  {
    about: 'a delivery in a room of 1,000, 400 messages/s',
    workload: 'broadcast',
    matches: ({ subscribers, publishers, perSecond }) => subscribers === 1000 && publishers === 10 && perSecond === 400,
    text: (read) => micros(read('cpuPerDelivery')),
  },
  {
    about: 'a delivery, with as many as it can do',
    workload: 'broadcast',
    matches: ({ saturate }) => saturate,
    text: (read) => `${micros(read('cpuPerDelivery'))}, ${shown(read('deliveries') / 1e6, 1)} million/s`,
  },
  {
    about: '64,000 clients that speak every 25 s, heartbeats on',
    workload: 'connections',
    peers: ['socketio-cluster', 'gjallar-cluster'],
    matches: ({ clients }) => clients === 64_000,
    text: (read) => `${shown(read('server'), 0)}% of a core`,
  },
];

/**
 * The README's table: stock socket.io's figures and gjallar's.
 * @param {import('./groups.js').Group[]} groups
 */
export function overview(groups) {
  const rows = lines.map(({ about, workload, peers = ['socketio-ws', 'gjallar'], matches = () => true, text }) => {
    const shownFor = (peer) => {
      const found = groups.find(
        (group) => group.workload === workload && group.peer === peer && group.valid && matches(group.parameters),
      );
      if (!found) return '–';
      const figures = text((key) => spread(found, key)?.median);
      // Where it is not meant to be.
      return isSaturated(found) && !found.parameters.saturate ? `${figures}, saturated` : figures;
    };
    return [about, ...peers.map(shownFor)];
  });
  return markdownTable(['', 'socket.io on ws', 'gjallar'], [...rows, mostHeld(groups)]);
}

/** The largest crowd of which nobody was lost and everybody was reached. */
function mostHeld(groups) {
  const held = (peer) => {
    const all = groups
      .filter((group) => group.workload === 'connections' && group.peer === peer && group.valid)
      .map((group) => ({ clients: spread(group, 'clients').median, reach: spread(group, 'reachAll').median }))
      .sort((a, b) => b.clients - a.clients);
    return all.length > 0 ? `${shown(all[0].clients, 0)}, in ${shown(all[0].reach / 1000, 1)} s` : '–';
  };
  return [
    'the largest crowd that was tried, one message to all of them',
    ...['socketio-cluster', 'gjallar-cluster'].map(held),
  ];
}

const micros = (value) => `${shown(value)} µs`;
