import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { benchmarks } from '../load/benchmarks/index.js';
import { peers as known } from '../load/peers/index.js';
import { groupRows } from '../load/report/groups.js';
import { overview, readmeRows, readmeTable } from '../load/report/overview.js';
import { docs, reportOf } from '../load/report/report.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(path, 'utf8');

test('the report of the benchmarks is what its results make, and names no folder of the machine', () => {
  const results = join(docs, 'benchmarks/results.jsonl');
  for (const [file, text] of reportOf([results]))
    expect({ file, text: read(join(docs, file)) }).toEqual({ file, text });
  expect(read(results).match(/"(?:\/(?:home|root|tmp|work|Users)\/)[^"]*"/g)).toBeNull();
});

test('the tables compare runs that followed one another, on one version of Node', () => {
  const row = (peer: string, cpuPerConnect: number, node = '22.1.0') => ({
    ...{ benchmark: 'connect', cell: '10,000 clients', peer, parameters: {}, valid: true, versions: { node } },
    result: { cpuPerConnect, rssPerClient: 5000 },
  });
  const rows = [row('socketio-ws', 400), row('gjallar', 100), row('socketio-ws', 300), row('gjallar', 120)];
  const [head, , first] = readmeTable(groupRows(rows)).split('\n');
  expect(head).toBe('|  | stock socket.io | gjallar beside Express | gain | gjallar, on a port of its own | gain |  |');
  expect(first).toBe('| CPU to connect a client | 350 µs | – | – | 110 µs | 3.2× (2.5–4) |  |');
  const other = [row('gjallar-express', 200), row('gjallar-express', 20, '24.1.0'), row('socketio-ws', 20, '24.1.0')];
  const groups = groupRows([...rows, ...other]);
  expect(readmeTable(groups)).toContain('| CPU to connect a client | 350 µs | 200 µs | 1.8× | 110 µs |');
  expect(overview(groups)).toContain(
    '| 350 µs (300–400) | – | 200 µs | – | 110 µs (100–120) | 3.2× (2.5–4) | – | 1, Node 22 |',
  );
});

test('the benchmarks measure the packages that gjallar runs on, and are not installed with it', () => {
  const { devDependencies: own, ...load } = JSON.parse(read(join(root, 'load/package.json')));
  const { dependencies, devDependencies } = JSON.parse(read(join(root, 'package.json')));
  const shared = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => name in own);
  expect(shared.length).toBeGreaterThan(4);
  expect(own).toMatchObject(Object.fromEntries(shared));
  expect(load.dependencies).toBeUndefined();
});

test('clients of the benchmarks connect from no port on which a program listens at all addresses', async () => {
  const program = createServer().listen(0, '0.0.0.0');
  await once(program, 'listening');
  const { port } = program.address() as AddressInfo;
  try {
    const { nextSource } = await import('../load/generator/source.js');
    const ports: unknown[] = [];
    while (Number(ports.at(-1) ?? 0) <= port) ports.push(nextSource().localPort);
    expect(ports).not.toContain(port);
    expect(ports.slice(-1)).toEqual([port + 1]);
  } finally {
    program.close();
  }
});

test('the benchmark "readme" has each row of the README’s table', () => {
  const rows = readmeRows(benchmarks);
  expect(rows.map(({ name, cells }) => [name, cells.length])).toEqual([
    ['connect', 1],
    ['echo', 1],
    ['fanout', 1],
    ['whispers', 1],
  ]);
  for (const { name, peers } of rows) {
    const { peers: own } = benchmarks[name as 'connect'] as { peers?: object };
    for (const peer of peers) expect(Object.keys(own ?? known)).toContain(peer);
  }
});
