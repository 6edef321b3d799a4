import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { benchmarks } from '../load/benchmarks/index.js';
import { usualPeers } from '../load/peers/index.js';
import { readmeRows } from '../load/report/overview.js';
import { docs, reportOf } from '../load/report/report.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(path, 'utf8');

test('the report of the benchmarks is what its results make, and names no folder of the machine', () => {
  const results = join(docs, 'benchmarks/results.jsonl');
  for (const [file, text] of reportOf([results]))
    expect({ file, text: read(join(docs, file)) }).toEqual({ file, text });
  expect(read(results).match(/"(?:\/(?:home|root|tmp|work|Users)\/)[^"]*"/g)).toBeNull();
});

test('the benchmarks measure the packages that gjallar runs on, and are not installed with it', () => {
  const { devDependencies: own, ...load } = JSON.parse(read(join(root, 'load/package.json')));
  const { dependencies, devDependencies } = JSON.parse(read(join(root, 'package.json')));
  const shared = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => name in own);
  expect(shared.length).toBeGreaterThan(5);
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
    ['connections', 1],
    ['echo', 1],
    ['broadcast', 3],
    ['cluster', 1],
  ]);
  for (const { name, peers } of rows) {
    const { peers: own } = benchmarks[name as 'connect'] as { peers?: object };
    for (const peer of peers) expect(Object.keys(own ?? usualPeers)).toContain(peer);
  }
});
