const connectionsCell = ({ clients }) =>
  clients === 512_000
    ? [
        {
          name: 'document 4: Gretty',
          result: { clients: 524_285, perSecond: 20_000, serverPerClient: 5000, server: 'under 30' },
        },
      ]
    : [];

export default {
  title: 'Gretty, 512,000 concurrent WebSockets on one server',
  benchmarks: {
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
  },
};
