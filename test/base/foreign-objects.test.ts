import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { replaceMethod } from '../../src/base/foreign-objects.private.js';

test('these methods are replaced, and no others', () => {
  const folder = fileURLToPath(new URL('../../src', import.meta.url));
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('foreign-objects.private.ts'))
    .flatMap((name) =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/replaceMethod\(([\w.]+)(?: as \w+)?, '(\w+)'/g)].map(
        ([, object, method]) => `${name}: ${object}.${method}`,
      ),
    );
  expect(found.sort()).toEqual([
    'base/log.ts: fs.writeSync',
    'base/log.ts: output.flushSync',
    'cluster/primary/node-cluster.private.ts: process.send',
    'host/run/application.ts: io.close',
    'host/runtime/lifecycle/orders.ts: process.emit',
    'io/moving-clients.private.ts: prototype.ack',
    'io/moving-clients.private.ts: prototype.run',
    'io/server/listen/port-owner.ts: server.closeAllConnections',
    'io/server/listen/port-owner.ts: server.getConnections',
    'io/server/listen/port-owner.ts: server.listen',
    'io/server/listen/shared-listening.ts: HttpServer.prototype.close',
    'io/server/listen/shared-listening.ts: prototype.listen',
    'io/server/register.ts: loader._load',
    'io/server/register.ts: prototype.bind',
    'io/socket-io.private.ts: adapter.close',
    'io/socket-io.private.ts: nsp._add',
    'io/socket-io.private.ts: nsp._createSocket',
    'io/socket-io.private.ts: nsp._remove',
    'io/socket-io.private.ts: nsp._remove',
    'io/socket-io.private.ts: server._checkNamespace',
  ]);
});

test('a replaced method gets the object and the arguments, and can be put back', () => {
  class Adder {
    constructor(private readonly base: number) {}
    add(one: number, other: number) {
      return this.base + one + other;
    }
  }
  const putBack = replaceMethod(Adder.prototype, 'add', (self, args, before) => [self, before(...args.reverse())]);
  const adder = new Adder(1);
  expect(adder.add(2, 3)).toEqual([adder, 6]);
  putBack();
  expect(adder.add(2, 3)).toBe(6);
});
