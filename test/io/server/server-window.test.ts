import { createServer } from 'node:http';
import { expect, jest, test } from '@jest/globals';
import type { Engine } from '../../../src/engine/engine.js';
import { Server } from '../../../src/index.js';
import { windowOf } from '../../../src/io/server/default-adapter.js';

test('what a server has for other workers leaves with what it has for its sockets, once it has an engine', async () => {
  const io = new Server();
  const flush = jest.fn(() => 0);
  const hold = windowOf(io, 0).share(flush);
  hold();
  expect(flush).toHaveBeenCalledTimes(1);
  io.attach(createServer());
  const { outbox } = io.engine as unknown as Engine;
  hold();
  expect(flush).toHaveBeenCalledTimes(1);
  outbox.flush();
  expect(flush).toHaveBeenCalledTimes(2);
  await io.close();
});
