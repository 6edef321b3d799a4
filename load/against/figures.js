const figure = (benchmark, cell, key, unit, about) => ({ benchmark, cell, key, unit, about });
const clients = '10,000 clients';
const room = '400 messages/s, subscribers rest 0.5 ms between reads';
const small = 'rooms of 10, 5,000 messages/s';

/**
 * What `--against` compares: the cost that each name stands for, in which cell of which benchmark it is measured. Names
 * of one cell share its runs.
 * @type {Record<string, { benchmark: string, cell: string, key: string, unit: string, about: string }>}
 */
export const figures = {
  echo: figure('echo', '30 bytes, 10,000/s', 'cpuPerMessage', 'µs', 'CPU per message that is echoed'),
  connect: figure('connect', clients, 'cpuPerConnect', 'µs', 'CPU to connect a client'),
  memory: figure('connect', clients, 'rssPerClient', 'bytes', 'memory of a client'),
  broadcast: figure('broadcast', room, 'cpuPerDelivery', 'µs', 'CPU per delivery in a room of 1,000 at 400 messages/s'),
  whispers: figure('whispers', small, 'cpuPerMessage', 'µs', 'CPU per message in rooms of 10 at 5,000 messages/s'),
};
