import { cpuPer, measured } from './measured.js';

const CLIENTS = 10_000;
const DEFAULT_INTERVAL = 25;

/**
 * Clients that do nothing but answer heartbeats. To keep a run short, all peers ping more often than Socket.IO's
 * default of 25 s; the first round is warm-up, the next two are measured.
 */
async function run(row) {
  const interval = row.cell.peer.pingInterval / 1000;
  return measured({
    warmUp: [interval, interval],
    window: [2 * interval, 2 * interval],
    begin: async ({ fleet }) => (await fleet.group(CLIENTS)).open(),
    figures(window) {
      const [{ perSecond }] = window.groups;
      const cpuPerHeartbeat = cpuPer(window, perSecond.pings);
      return {
        cpuPerHeartbeat,
        perSecond: perSecond.pings,
        expected: CLIENTS / interval,
        // What these heartbeats would take at the default interval, were there nothing but them.
        atDefault: (cpuPerHeartbeat * CLIENTS) / DEFAULT_INTERVAL / 1e4,
      };
    },
  })(row);
}

export default {
  about: '10,000 clients that do nothing but answer heartbeats',
  cells: (quick) =>
    [quick ? 5 : 10].map((seconds) => ({
      label: `pingInterval ${seconds} s (Socket.IO's default is ${DEFAULT_INTERVAL} s)`,
      peer: { pingInterval: seconds * 1000 },
    })),
  columns: [
    { key: 'server', title: 'server %', digits: 2, ratio: true },
    { key: 'cpuPerHeartbeat', title: 'CPU µs/heartbeat', ratio: true },
    { key: 'perSecond', title: 'heartbeats/s', digits: 0 },
    { key: 'expected', title: 'expected', digits: 0 },
    { key: 'atDefault', title: 'server % at 25 s', digits: 2 },
    { key: 'generatorCpu', title: 'generator %', digits: 0 },
  ],
  run,
};
