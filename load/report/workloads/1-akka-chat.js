const heimdallr = [
  // subscribers, publishers; average ms: socket.io on 1 node, heimdallr on 1, 2 and 4
  [10, 1, 43, 43, 16, 20],
  [100, 5, 62, 61, 53, 32],
  [1000, 10, 496, 390, 129, 47],
  [1000, 50, 1304, 554, 141, 109],
  [1000, 100, 2242, 605, 202, 114],
];

const broadcastTable = {
  workload: 1,
  about:
    'Average time for a message to reach a client, one m4.large per node. The source states neither the rate nor the message size.',
  head: ['subscribers, publishers', 'socket.io, 1 node', 'heimdallr, 1 node', '2 nodes', '4 nodes'],
  rows: heimdallr.map(([subscribers, publishers, ...times]) => [
    `${subscribers}, ${publishers}`,
    ...times.map((time) => `${time} ms`),
  ]),
};

/** The published figures for a chat room of the same size, as rows of our table. */
function broadcastCell({ subscribers, publishers, perSecond }) {
  const row = heimdallr.find(([s, p]) => s === subscribers && p === publishers);
  // The same room at another rate is a cell of our own.
  if (row === undefined || perSecond !== publishers * 4) return [];
  const [, , socketio, ...nodes] = row;
  return [
    ['socket.io, 1 node', socketio],
    ...[1, 2, 4].map((count, i) => [`heimdallr, ${count} ${count === 1 ? 'node' : 'nodes'}`, nodes[i]]),
  ].map(([name, average]) => ({ name: `workload 1: ${name}`, result: { average } }));
}

function httpCell({ connections, path }) {
  const measured = [
    ['Node.js', { perSecond: 14_533.9, average: 68.94 }],
    ['heimdallr', { perSecond: 20_675.89, average: 13.35 }],
  ];
  const isSame = connections === 10_000 && path !== '/';
  return isSame ? measured.map(([name, result]) => ({ name: `workload 1: ${name}`, result })) : [];
}

export default {
  title: 'chat rooms across several nodes',
  source: 'heimdallr, a chat server on Akka that is scaled out with Redis pub/sub, compared with socket.io',
  benchmarks: {
    broadcast: { tables: [], cell: broadcastCell },
    nodes: { tables: [broadcastTable], cell: broadcastCell },
    http: {
      cell: httpCell,
      tables: [
        {
          workload: 1,
          about: 'wrk with 6 threads and 10,000 connections, of which 8,981 failed to connect; one m4.large.',
          head: ['', 'requests/s', 'average'],
          rows: [
            ['Node.js', '14,533.90', '68.94 ms'],
            ['heimdallr', '20,675.89', '13.35 ms'],
          ],
        },
      ],
    },
  },
};
