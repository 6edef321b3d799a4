import { afterEach, describe, expect, test } from '@jest/globals';
import type { GjallarOptions } from '../../../../src/index.js';
import { closeConnections } from '../../../engine/support/tcp.js';
import { listener, serve } from '../fidelity/application.js';
import { checks } from '../fidelity/checks.js';
import { classes, closeAll, run } from '../support/servers.js';

afterEach(async () => {
  closeConnections();
  await closeAll();
});

const [[, StockServer], [, Server]] = classes;

const kinds: [string, typeof Server, Partial<GjallarOptions>][] = [
  ['socket.io', StockServer, {}],
  ['gjallar', Server, {}],
];

test('there are 42 checks', () => {
  expect(Object.keys(checks)).toHaveLength(42);
});

test.each(kinds)('a handshake over polling on %s names its length', async (_name, Class, options) => {
  const { port } = await run(Class, listener, options);
  const response = await fetch(`http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`);
  const body = await response.text();
  expect(response.headers.get('content-length')).toBe(`${Buffer.byteLength(body)}`);
  expect(response.headers.get('transfer-encoding')).toBe(null);
});

describe.each(kinds)('an application on %s', (_name, Class, options) => {
  test.each(Object.keys(checks))('has %s', async (name) => {
    const { io, port } = await run(Class, listener, options);
    serve(io);
    await checks[name]!(port);
  });
});
