// What the founding documents measured, on their machines and in their years. Only what they state is here.

const TITLES = {
  1: 'heimdallr, a chat server on Akka',
  2: 'a one-to-one chat on Node.js, against phpDaemon',
  3: 'kabu.com, which WebSocket library should publish market data',
  4: 'Gretty, 512,000 concurrent WebSockets on one server',
  5: 'reactive-playground, back-pressure against slow clients',
};

const heimdallr = [
  // subscribers, publishers; average ms: socket.io on 1 node, heimdallr on 1, 2 and 4
  [10, 1, 43, 43, 16, 20],
  [100, 5, 62, 61, 53, 32],
  [1000, 10, 496, 390, 129, 47],
  [1000, 50, 1304, 554, 141, 109],
  [1000, 100, 2242, 605, 202, 114],
];

const correspondence = [
  // connections; phpDaemon and Node.js: requests completed in 20 s, requests per second, longest request in s
  [10, [1147, 54.36, 7.1], [1285, 64, 9.1]],
  [100, [1543, 75.15, 12.9], [1284, 64.12, 13.3]],
  [500, [1365, 67.73, 15.2], [1236, 61.71, 16.1]],
  [1000, [1159, 56.99, 13.1], [1528, 75.02, 16.8]],
];

const broadcastTable = {
  document: 1,
  about: 'Average time for a message to reach a client, one m4.large a node. Neither rate nor message size is stated.',
  head: ['subscribers, publishers', 'socket.io, 1 node', 'heimdallr, 1 node', '2 nodes', '4 nodes'],
  rows: heimdallr.map(([subscribers, publishers, ...times]) => [
    `${subscribers}, ${publishers}`,
    ...times.map((time) => `${time} ms`),
  ]),
};

/** The document's figures for a cell of a chat room, as rows of our table. */
function broadcastCell({ subscribers, publishers, perSecond }) {
  const row = heimdallr.find(([s, p]) => s === subscribers && p === publishers);
  // The same room at a rate of our own is not the document's cell.
  if (row === undefined || perSecond !== publishers * 4) return [];
  const [, , socketio, ...nodes] = row;
  return [
    ['socket.io, 1 node', socketio],
    ...[1, 2, 4].map((count, i) => [`heimdallr, ${count} ${count === 1 ? 'node' : 'nodes'}`, nodes[i]]),
  ].map(([name, average]) => ({ name: `document 1: ${name}`, result: { average } }));
}

/** Requests over HTTP, as the document's were. */
function correspondenceCell({ connections }) {
  const row = correspondence.find(([count]) => count === connections);
  if (row === undefined) return [];
  return ['phpDaemon', 'Node.js'].map((name, i) => {
    const [completed, acknowledged, seconds] = row[i + 1];
    return { name: `document 2: ${name}`, result: { completed, acknowledged, longest: seconds * 1000 } };
  });
}

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

function httpCell({ connections, path }) {
  const measured = [
    ['Node.js', { perSecond: 14_533.9, average: 68.94 }],
    ['heimdallr', { perSecond: 20_675.89, average: 13.35 }],
  ];
  const isSame = connections === 10_000 && path !== '/';
  return isSame ? measured.map(([name, result]) => ({ name: `document 1: ${name}`, result })) : [];
}

const echoCell = ({ size, perSecond }) =>
  size === 4 && perSecond === 897 ? [{ name: 'document 3: every library', result: { p99: '0.1 to 0.2' } }] : [];

const connectionsCell = ({ clients }) =>
  clients === 512_000
    ? [
        {
          name: 'document 4: Gretty',
          result: { clients: 524_285, perSecond: 20_000, serverPerClient: 5000, server: 'under 30' },
        },
      ]
    : [];

const backpressureCell = ({ slow }) =>
  slow === 0
    ? [{ name: 'document 5: reactive-playground', result: { deliveries: 1_351_598, messages: 100_000_000 } }]
    : [];

/**
 * By the name of our benchmark: the document's table, and, where its cells are ours too, its figures under the keys of
 * our columns, to stand in our table.
 */
export const documents = {
  broadcast: { tables: [], cell: broadcastCell },
  nodes: { tables: [broadcastTable], cell: broadcastCell },
  http: {
    cell: httpCell,
    tables: [
      {
        document: 1,
        about: 'wrk, 6 threads, 10,000 connections, of which 8,981 failed to connect; one m4.large.',
        head: ['', 'requests/s', 'average'],
        rows: [
          ['Node.js', '14,533.90', '68.94 ms'],
          ['heimdallr', '20,675.89', '13.35 ms'],
        ],
      },
    ],
  },
  correspondence: {
    cell: correspondenceCell,
    tables: [
      {
        document: 2,
        about:
          'ApacheBench, 20 s, keep-alive connections: completed requests, requests per second, longest request. Every message is written to MySQL and MongoDB.',
        head: ['connections', 'phpDaemon', 'Node.js'],
        rows: correspondence.map(([connections, ...servers]) => [
          connections.toLocaleString('en-US'),
          ...servers.map(([completed, perSecond, longest]) => `${completed} · ${perSecond}/s · ${longest} s`),
        ]),
      },
    ],
  },
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
  connections: {
    cell: connectionsCell,
    tables: [
      {
        document: 4,
        about:
          'About 30 characters every 25 s from each client, sent back in upper case. Server: 2 virtual cores, 7.5 GB. The kernel’s memory is not counted.',
        head: ['', 'connections', 'messages/s', 'heap', 'CPU'],
        rows: [['Gretty', '524,285', 'about 20,000', '2.5 GB, about 5 KB each', 'under 30%']],
      },
    ],
  },
  backpressure: {
    cell: backpressureCell,
    tables: [
      {
        document: 5,
        about:
          '1,000 clients, messages of about 145 bytes, 1,500,000 offered a second in batches of 5,000; slow clients sleep 200 ms at every read. 4 physical cores (i7-4770), JDK 12.',
        head: ['', 'messages/s', 'outcome'],
        rows: [
          ['reactive-playground', '1,351,598 on average', '100,000,000 messages arrive'],
          [
            'the same, slow clients',
            '10 to 20% less',
            'stays up; 25,000 messages for a reader that waits all arrive later',
          ],
          ['the same without back-pressure', '–', 'no answer, then out of memory; about 720 KB queued in each socket'],
        ],
      },
    ],
  },
};

export const titleOf = (document) => `Document ${document}: ${TITLES[document]}`;
