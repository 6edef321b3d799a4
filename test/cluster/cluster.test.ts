import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, connected, disconnectAll, expectOk, nextEvent, upgraded, workersOf } from '../support/clients.js';
import { sharedServer } from '../support/server.js';
import { expectOnceAndInOrder } from '../support/talk.js';

afterEach(disconnectAll);

describe('four workers on the embedded bus', () => {
  const server = sharedServer({ WORKERS: '4' });

  test('40 default clients all upgrade and all hear each message once and in order', async () => {
    const clients = Array.from({ length: 40 }, (_, index) => connect(server.url, { auth: { name: `user${index}` } }));
    await Promise.all(clients.map(upgraded));
    expect(new Set(await workersOf(clients)).size).toBeGreaterThan(1);
    for (const client of clients) expectOk(await client.emitWithAck('join', 'hall'));
    await expectOnceAndInOrder(clients, 'hall', 5);
  });

  test.each([['polling'], ['websocket']])('clients that speak %s only take part', async (transport) => {
    const alone = connect(server.url, { transports: [transport as 'polling'] });
    const others = Array.from({ length: 4 }, () => connect(server.url));
    const clients = [alone, ...others];
    await Promise.all(clients.map(connected));
    for (const client of clients) expectOk(await client.emitWithAck('join', `with-${transport}`));
    await expectOnceAndInOrder(clients, `with-${transport}`, 5);
    expect(alone.io.engine.transport.name).toBe(transport);
  });

  test('a session of the hub, of a worker that is not there and of no worker is unknown, at once', async () => {
    for (const sid of ['0.nobody', '4711.nobody', 'nobody']) {
      const response = await fetch(`${server.url}/socket.io/?EIO=4&transport=polling&sid=${sid}`);
      expect([response.status, await response.json()]).toEqual([400, { code: 1, message: 'Session ID unknown' }]);
    }
  });

  test('binary payloads and acknowledgements go both ways, over every transport', async () => {
    for (const transports of [['polling'], ['websocket'], ['polling', 'websocket']] as const) {
      const client = connect(server.url, { transports: [...transports] });
      const bytes = Buffer.from([0, 1, 2, 253, 254, 255]);
      const value = { text: 'ünïcödé ✓', nested: { bytes }, list: [bytes, null, 1.5] };
      expect(await client.emitWithAck('echo', value)).toEqual(value);
      const back = nextEvent(client, 'echo');
      client.emit('echo', value);
      expect(await back).toEqual([value]);
    }
  });
});
