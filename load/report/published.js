// Figures that others have published for the same workloads, on other machines and in other years. `cell` has those of one of
// our cells, under the keys of our columns; `about` says how they were measured.

const heimdallr = [
  // subscribers, publishers; average ms: socket.io on 1 node, heimdallr on 1, 2 and 4
  [10, 1, 43, 43, 16, 20],
  [100, 5, 62, 61, 53, 32],
  [1000, 10, 496, 390, 129, 47],
  [1000, 50, 1304, 554, 141, 109],
  [1000, 100, 2242, 605, 202, 114],
];
const NODES = ['socket.io, 1 node', 'heimdallr, 1 node', 'heimdallr, 2 nodes', 'heimdallr, 4 nodes'];

/** The same room at another rate is a cell of our own. */
function rooms({ subscribers, publishers, perSecond }) {
  const row = heimdallr.find(([s, p]) => s === subscribers && p === publishers && perSecond === p * 4) ?? [];
  return row.slice(2).map((average, i) => [NODES[i], { average }]);
}

const oneToOne = [
  // connections; phpDaemon and Node.js: requests completed in 20 s, requests per second, longest request in s
  [10, [1147, 54.36, 7.1], [1285, 64, 9.1]],
  [100, [1543, 75.15, 12.9], [1284, 64.12, 13.3]],
  [500, [1365, 67.73, 15.2], [1236, 61.71, 16.1]],
  [1000, [1159, 56.99, 13.1], [1528, 75.02, 16.8]],
];

function posts({ connections }) {
  const [, ...servers] = oneToOne.find(([count]) => count === connections) ?? [];
  return servers.map(([completed, acknowledged, seconds], i) => [
    ['phpDaemon', 'Node.js'][i],
    { completed, acknowledged, longest: seconds * 1000 },
  ]);
}

/** Memory was published as a share of 30.5 GiB. */
const mebibytes = (percent) => Math.round((percent / 100) * 30.5 * 1024);

const workloads = {
  1: 'chat rooms across several nodes: heimdallr, a chat server on Akka that is scaled out with Redis pub/sub, compared with socket.io',
  2: 'one-to-one chat on Node.js and on phpDaemon, which keeps each message in a fast and in a permanent store',
  3: 'market data: a publisher at kabu.com, which compared WebSocket libraries in Go, Java, Node.js and Rust',
  4: 'half a million connections: Gretty, which held that many WebSockets on one machine',
  5: 'slow clients: reactive-playground, which shows back-pressure against clients that read more slowly than the server sends',
};

/** Figures of a public benchmark, in a cell that is shaped like its own. @param {(parameters: object) => boolean} matches */
const arena = (about, matches, rows) => ({
  source: `*Published figures* are those of the [benchmark of AnyCable's authors](https://github.com/anycable/nodejs-websocket-bench), on 32 virtual cores. ${about}`,
  who: 'published',
  cell: (parameters) => (matches(parameters) ? rows : []),
});
const always = () => true;

const byBenchmark = {
  jitter: arena('10,000 clients, 120 messages at 2 a second, each client offline for about 2 s every 15 s.', always, [
    ['socket.io', { delivered: 84.55, lost: 184_449, cuts: 74_496, p50: 106, p95: 394, p99: 1070 }],
    ['socket.io with recovery', { delivered: 100, lost: 0, cuts: 81_532, p50: 148, p95: 1970, p99: 4580 }],
    ['uWebSockets.js', { delivered: 87.03, lost: 153_805, cuts: 81_232, p50: 92, p95: 720, p99: 1720 }],
    ['AnyCable', { delivered: 100, lost: 0, cuts: 83_375, p50: 250, p95: 4100, p99: 6140 }],
  ]),
  deploy: arena('5,000 clients; AnyCable is a process of its own that is not deployed with the application.', always, [
    ['socket.io', { dropped: 5000, offlineP50: 4967, offlineP95: 5992, neverBack: 189 }],
    ['AnyCable', { dropped: 0, offlineP50: 0, offlineP95: 0, neverBack: 0 }],
  ]),
  idle: arena('Memory of the container at up to 1,000,000 connections; socket.io held 119,826 in 6.3 GB.', always, [
    ['socket.io', { serverPerClient: 52_600 }],
    ['uWebSockets.js', { serverPerClient: 5400 }],
    ['AnyCable', { serverPerClient: 33_000 }],
    ['AnyCable Pro', { serverPerClient: 19_000 }],
  ]),
  broadcast: arena(
    '100 messages within a second to 10,000 subscribers, published over HTTP.',
    ({ burst }) => burst === true,
    [
      ['socket.io', { p50: 741, p99: 3934 }],
      ['socket.io with recovery', { p50: 497, p99: 2255 }],
      ['uWebSockets.js', { p50: 219, p99: 3171 }],
      ['AnyCable', { p50: 360, p99: 3130 }],
    ],
  ),
  whispers: arena('1,000 clients in 10 rooms; each sends 64 bytes every 500 ms.', ({ clients }) => clients === 1000, [
    ['socket.io', { delivered: 62.3, p50: 1784, p99: 12_069 }],
    ['uWebSockets.js', { delivered: 100, p50: 10, p99: 21 }],
    ['AnyCable', { delivered: 100, p50: 18, p99: 78 }],
  ]),
  nodes: {
    workload: 1,
    cell: rooms,
    about:
      'Average time for a message to reach a client, one m4.large per node. The source states neither rate nor size.',
  },
  http: {
    workload: 1,
    cell: ({ connections, path }) =>
      connections === 10_000 && path !== '/'
        ? [
            ['Node.js', { perSecond: 14_533.9, average: 68.94 }],
            ['heimdallr', { perSecond: 20_675.89, average: 13.35 }],
          ]
        : [],
    about: 'wrk with 6 threads and 10,000 connections, of which 8,981 failed to connect; one m4.large.',
  },
  correspondence: {
    workload: 2,
    cell: posts,
    about: 'ApacheBench for 20 s over keep-alive connections. The server writes every message to MySQL and MongoDB.',
  },
  marketdata: {
    workload: 3,
    cell: ({ rounds }) =>
      rounds
        ? [
            ['gorilla', { server: 293, rss: mebibytes(1.5) }],
            ['Netty', { server: 184, rss: mebibytes(6.8) }],
            ['ws on cluster, did not finish', { server: 400, rss: mebibytes(3) }],
          ]
        : [],
    about:
      '5,000 connections from two machines, 500 rounds; 4 virtual cores, 30.5 GiB. gorilla took 65.5 s and 64.1 s, Netty 57.54 s and 57.57 s. ws on cluster finished with 2,500 connections only. tungstenite and rust-websocket failed, Ktor was not measured.',
  },
  echo: {
    workload: 3,
    cell: ({ size, perSecond }) => (size === 4 && perSecond === 897 ? [['every library', { p99: '0.1 to 0.2' }]] : []),
    about: 'Artillery with 4 bytes per message. Artillery ran out of CPU before any server did.',
  },
  connections: {
    workload: 4,
    cell: ({ clients }) =>
      clients === 512_000
        ? [['Gretty', { clients: 524_285, perSecond: 20_000, serverPerClient: 5000, server: 'under 30' }]]
        : [],
    about:
      'About 30 characters every 25 s, sent back in upper case; 2 virtual cores, 7.5 GB, 2.5 GB of heap. Kernel memory is not counted.',
  },
  backpressure: {
    workload: 5,
    cell: ({ slow }) => (slow === 0 ? [['reactive-playground', { deliveries: 1_351_598, messages: 100_000_000 }]] : []),
    about:
      '1,000 clients, messages of about 145 bytes, 1,500,000 per second offered in batches of 5,000; slow clients sleep 200 ms at every read; 4 physical cores (i7-4770), JDK 12. With slow clients, 10 to 20% less, and a paused reader later gets all of its 25,000 messages. Without back-pressure, it stops answering and runs out of memory, with about 720 KB queued per socket.',
  },
};

/** What was published for a benchmark. @returns {{ about: string, cell: (parameters: object) => object[] } | undefined} */
export function publishedFor(name) {
  const found = byBenchmark[name];
  if (!found) return undefined;
  const { workload, about, cell } = found;
  const { source = `*Workload ${workload}*, ${workloads[workload]}. ${about}`, who = `workload ${workload}` } = found;
  return {
    about: source,
    cell: (parameters) => cell(parameters).map(([name, result]) => ({ name: `${who}: ${name}`, result })),
  };
}
