const correspondence = [
  // connections; phpDaemon and Node.js: requests completed in 20 s, requests per second, longest request in s
  [10, [1147, 54.36, 7.1], [1285, 64, 9.1]],
  [100, [1543, 75.15, 12.9], [1284, 64.12, 13.3]],
  [500, [1365, 67.73, 15.2], [1236, 61.71, 16.1]],
  [1000, [1159, 56.99, 13.1], [1528, 75.02, 16.8]],
];

/** Requests over HTTP, as the document's were. */
function correspondenceCell({ connections }) {
  const row = correspondence.find(([count]) => count === connections);
  if (row === undefined) return [];
  return ['phpDaemon', 'Node.js'].map((name, i) => {
    const [completed, acknowledged, seconds] = row[i + 1];
    return { name: `document 2: ${name}`, result: { completed, acknowledged, longest: seconds * 1000 } };
  });
}

export default {
  title: 'a one-to-one chat on Node.js, against phpDaemon',
  benchmarks: {
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
  },
};
