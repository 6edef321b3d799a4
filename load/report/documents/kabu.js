/** The share of memory is one of 30.5 GiB. */
function marketdataCell({ rounds }) {
  const mebibytes = (percent) => Math.round((percent / 100) * 30.5 * 1024);
  const measured = [
    ['gorilla', { server: 293, rss: mebibytes(1.5) }],
    ['Netty', { server: 184, rss: mebibytes(6.8) }],
    ['ws on cluster, did not finish', { server: 400, rss: mebibytes(3) }],
  ];
  return rounds ? measured.map(([name, result]) => ({ name: `document 3: ${name}`, result })) : [];
}

const echoCell = ({ size, perSecond }) =>
  size === 4 && perSecond === 897 ? [{ name: 'document 3: every library', result: { p99: '0.1 to 0.2' } }] : [];

export default {
  title: 'kabu.com, which WebSocket library should publish market data',
  benchmarks: {
    marketdata: {
      cell: marketdataCell,
      tables: [
        {
          document: 3,
          about:
            '5,000 connections from two machines, a heartbeat a second each, answered with 10 messages of 10,000 bytes, 500 rounds. Server: 4 virtual cores, 30.5 GiB.',
          head: ['', 'time', 'CPU', 'memory'],
          rows: [
            ['gorilla/websocket (Go)', '65.5 s, 64.1 s', '293%', '1.5%'],
            ['Netty (Java)', '57.54 s, 57.57 s', '184%', '6.8%'],
            ['ws (Node.js, cluster)', 'time-outs; only at 2,500 connections did it finish', '400%', '3%'],
            ['tungstenite, rust-websocket', 'failed', '–', '–'],
            ['Ktor', 'not measured', '–', '–'],
          ],
        },
      ],
    },
    echo: {
      cell: echoCell,
      tables: [
        {
          document: 3,
          about: 'Artillery, 4 bytes. It ran out of CPU before any server did.',
          head: ['', 'rate', '99th percentile'],
          rows: [['every library', '897/s', '0.1 to 0.2 ms']],
        },
      ],
    },
  },
};
