/** Memory was published as a share of 30.5 GiB. */
function marketdataCell({ rounds }) {
  const mebibytes = (percent) => Math.round((percent / 100) * 30.5 * 1024);
  const measured = [
    ['gorilla', { server: 293, rss: mebibytes(1.5) }],
    ['Netty', { server: 184, rss: mebibytes(6.8) }],
    ['ws on cluster, did not finish', { server: 400, rss: mebibytes(3) }],
  ];
  return rounds ? measured.map(([name, result]) => ({ name: `workload 3: ${name}`, result })) : [];
}

const echoCell = ({ size, perSecond }) =>
  size === 4 && perSecond === 897 ? [{ name: 'workload 3: every library', result: { p99: '0.1 to 0.2' } }] : [];

export default {
  title: 'market data',
  source: 'a market-data publisher at kabu.com, which compared WebSocket libraries in Go, Java, Node.js and Rust',
  benchmarks: {
    marketdata: {
      cell: marketdataCell,
      tables: [
        {
          workload: 3,
          about:
            '5,000 connections from two machines. Each sends one heartbeat per second and gets 10 messages of 10,000 bytes, 500 times. Server: 4 virtual cores, 30.5 GiB.',
          head: ['', 'time', 'CPU', 'memory'],
          rows: [
            ['gorilla/websocket (Go)', '65.5 s, 64.1 s', '293%', '1.5%'],
            ['Netty (Java)', '57.54 s, 57.57 s', '184%', '6.8%'],
            ['ws (Node.js, cluster)', 'timeouts; finished with 2,500 connections only', '400%', '3%'],
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
          workload: 3,
          about: 'Artillery with 4 bytes per message. Artillery ran out of CPU before any server did.',
          head: ['', 'rate', '99th percentile'],
          rows: [['every library', '897/s', '0.1 to 0.2 ms']],
        },
      ],
    },
  },
};
