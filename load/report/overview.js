import { isSaturated, ratio, spread } from './groups.js';
import { markdownTable, shown, times } from './table.js';

const clusters = ['socketio-cluster', 'gjallar-cluster'];

/** What is shown of one cell: of each of two peers what `text` says, and how many times the figure `key` is. */
const lines = [
  {
    about: 'CPU to connect a client',
    benchmark: 'connect',
    key: 'cpuPerConnect',
    text: (read) => micros(read('cpuPerConnect')),
  },
  {
    about: 'memory per connected client',
    benchmark: 'connect',
    key: 'rssPerClient',
    text: (read) => `${shown(read('rssPerClient') / 1000, 1)} KB`,
  },
  {
    about: 'CPU per delivery in a room of 1,000 at 400 messages/s',
    benchmark: 'broadcast',
    matches: ({ subscribers, publishers, perSecond }) => subscribers === 1000 && publishers === 10 && perSecond === 400,
    key: 'cpuPerDelivery',
    text: (read) => micros(read('cpuPerDelivery')),
  },
  {
    about: 'CPU per delivery at the highest rate of each',
    benchmark: 'broadcast',
    matches: ({ saturate }) => saturate,
    key: 'cpuPerDelivery',
    text: (read) => `${micros(read('cpuPerDelivery'))}, ${shown(read('deliveries') / 1e6, 1)} million/s`,
  },
  {
    about: '64,000 clients that send a message every 25 s, with heartbeats',
    benchmark: 'connections',
    peers: clusters,
    matches: ({ clients }) => clients === 64_000,
    key: 'server',
    text: (read) => `${shown(read('server'), 0)}% of a core`,
  },
];

/**
 * The README's table: stock socket.io's figures and gjallar's.
 * @param {import('./groups.js').Group[]} groups
 */
export function overview(groups) {
  const rows = lines.map(
    ({ about, benchmark, peers = ['socketio-ws', 'gjallar'], matches = () => true, key, text }) => {
      const found = peers.map((peer) =>
        groups.find(
          (group) => group.benchmark === benchmark && group.peer === peer && group.valid && matches(group.parameters),
        ),
      );
      const [stock, ours] = found;
      const factor = stock && ours && times(ratio(stock, ours, { key, title: '' }));
      return [about, ...found.map((group) => (group ? figures(group, text) : '–')), factor ?? '–'];
    },
  );
  return markdownTable(['', 'socket.io on ws', 'gjallar', '×'], [...rows, mostHeld(groups)]);
}

function figures(group, text) {
  const told = text((key) => spread(group, key)?.median);
  // Where it is not meant to be.
  return isSaturated(group) && !group.parameters.saturate ? `${told}, saturated` : told;
}

/** The most clients that were held without a lost connection, and that one message reached all of. */
function mostHeld(groups) {
  const held = (peer) => {
    const all = groups
      .filter((group) => group.benchmark === 'connections' && group.peer === peer && group.valid)
      .map((group) => ['clients', 'reached', 'reachAll'].map((key) => spread(group, key).median))
      .filter(([clients, reached]) => reached === clients)
      .sort(([one], [other]) => other - one);
    if (all.length === 0) return '–';
    const [[clients, , reach]] = all;
    return `${shown(clients, 0)}, in ${shown(reach / 1000, 1)} s`;
  };
  return ['most clients in one room, and the time for one message to reach all of them', ...clusters.map(held), '–'];
}

const micros = (value) => `${shown(value)} µs`;
