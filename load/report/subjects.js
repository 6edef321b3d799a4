/** The pages with all results, by the name of the file: what each is called, and the benchmarks on it. */
export const subjects = {
  clients: { title: 'Connecting and holding clients', names: ['connect', 'idle', 'connections'] },
  messages: { title: 'Messages to single clients', names: ['echo', 'correspondence', 'marketdata'] },
  rooms: { title: 'Rooms', names: ['broadcast', 'fanout', 'rooms', 'windows'] },
  cluster: { title: 'Workers and nodes', names: ['nodes', 'cluster', 'placement', 'frames', 'workers', 'start'] },
  'slow-clients': { title: 'Slow clients', names: ['backpressure', 'state', 'state-nodes'] },
  history: { title: 'History', names: ['history', 'sizing'] },
  http: { title: 'HTTP', names: ['http', 'express'] },
};

/** The address of a benchmark's chapter, as seen from docs/benchmarks. */
export function addressOf(name) {
  const [file] = Object.entries(subjects).find(([, { names }]) => names.includes(name));
  return `${file}.md#${name}`;
}
