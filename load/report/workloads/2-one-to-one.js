const correspondence = [
  // connections; phpDaemon and Node.js: requests completed in 20 s, requests per second, longest request in s
  [10, [1147, 54.36, 7.1], [1285, 64, 9.1]],
  [100, [1543, 75.15, 12.9], [1284, 64.12, 13.3]],
  [500, [1365, 67.73, 15.2], [1236, 61.71, 16.1]],
  [1000, [1159, 56.99, 13.1], [1528, 75.02, 16.8]],
];

/** The published requests went over HTTP. */
function correspondenceCell({ connections }) {
  const row = correspondence.find(([count]) => count === connections);
  if (row === undefined) return [];
  return ['phpDaemon', 'Node.js'].map((name, i) => {
    const [completed, acknowledged, seconds] = row[i + 1];
    return { name: `workload 2: ${name}`, result: { completed, acknowledged, longest: seconds * 1000 } };
  });
}

export default {
  title: 'one-to-one chat',
  source:
    'a chat between two users on Node.js and on phpDaemon, which keeps each message in a fast and in a permanent store',
  benchmarks: {
    correspondence: {
      cell: correspondenceCell,
      tables: [
        {
          workload: 2,
          about:
            'ApacheBench for 20 s over keep-alive connections: completed requests, requests per second, longest request. The server writes every message to MySQL and MongoDB.',
          head: ['connections', 'phpDaemon', 'Node.js'],
          rows: correspondence.map(([connections, ...servers]) => [
            connections.toLocaleString('en-US'),
            ...servers.map(([completed, perSecond, longest]) => `${completed} · ${perSecond}/s · ${longest} s`),
          ]),
        },
      ],
    },
  },
};
