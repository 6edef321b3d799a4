import { expect, test } from '@jest/globals';
import { Server } from 'socket.io';
import { namespaceReadings } from '../../../src/host/operations/metrics/readings.js';
import { privateParts } from '../../../src/io/socket-io-server.private.js';

test('namespaces that come and go get no more than 100 labels', () => {
  const io = new Server();
  const read = namespaceReadings([io]);
  const labels = new Set<string>();
  const scrape = () => {
    for (const [name] of read().gjallar_namespace_sockets as Iterable<readonly [string, number]>) labels.add(name);
  };
  io.of(`/${'x'.repeat(1000)}`);
  for (let user = 0; user < 500; user++) {
    io.of(`/user ${user}`);
    scrape();
    (privateParts(io)._nsps as Map<string, unknown>).delete(`/user ${user}`);
  }
  expect([labels.size, labels.has('/'), labels.has('(others)')]).toEqual([101, true, true]);
  expect(Math.max(...[...labels].map(({ length }) => length))).toBeLessThan(20);
});
