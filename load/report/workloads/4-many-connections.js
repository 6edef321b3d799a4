const connectionsCell = ({ clients }) =>
  clients === 512_000
    ? [
        {
          name: 'workload 4: Gretty',
          result: { clients: 524_285, perSecond: 20_000, serverPerClient: 5000, server: 'under 30' },
        },
      ]
    : [];

export default {
  title: 'half a million connections',
  source: 'Gretty, which held half a million concurrent WebSockets on one machine',
  benchmarks: {
    connections: {
      cell: connectionsCell,
      tables: [
        {
          workload: 4,
          about:
            'Each client sends about 30 characters every 25 s and gets them back in upper case. Server: 2 virtual cores, 7.5 GB. Kernel memory is not counted.',
          head: ['', 'connections', 'messages/s', 'heap', 'CPU'],
          rows: [['Gretty', '524,285', 'about 20,000', '2.5 GB, about 5 KB each', 'under 30%']],
        },
      ],
    },
  },
};
