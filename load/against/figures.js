/**
 * What `--against` compares: the cost that each name stands for, in which cell of which benchmark it is measured. Names
 * of one cell share its runs.
 * @type {Record<string, { benchmark: string, cell: string, key: string, unit: string, about: string }>}
 */
export const figures = {
  echo: {
    benchmark: 'echo',
    cell: '30 bytes, 10,000/s',
    key: 'cpuPerMessage',
    unit: 'µs',
    about: 'CPU per message that is echoed',
  },
  connect: {
    benchmark: 'connect',
    cell: '10,000 clients',
    key: 'cpuPerConnect',
    unit: 'µs',
    about: 'CPU to connect a client',
  },
  memory: {
    benchmark: 'connect',
    cell: '10,000 clients',
    key: 'rssPerClient',
    unit: 'bytes',
    about: 'memory of a client',
  },
  broadcast: {
    benchmark: 'broadcast',
    cell: '400 messages/s, subscribers rest 0.5 ms between reads',
    key: 'cpuPerDelivery',
    unit: 'µs',
    about: 'CPU per delivery in a room of 1,000 at 400 messages/s',
  },
  rooms: {
    benchmark: 'rooms',
    cell: 'rooms of 10, 5,000 messages/s',
    key: 'cpuPerMessage',
    unit: 'µs',
    about: 'CPU per message in rooms of 10 at 5,000 messages/s',
  },
  start: {
    benchmark: 'start',
    cell: 'start and reload',
    key: 'cpuPerWorker',
    unit: 'ms',
    about: 'CPU of a worker until it listens',
  },
  reload: {
    benchmark: 'start',
    cell: 'start and reload',
    key: 'cpuReload',
    unit: 'ms',
    about: 'CPU of a reload of two workers',
  },
};
