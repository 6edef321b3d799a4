import { afterEach, describe, expect, test } from '@jest/globals';
import type { Overview } from '../../src/operations/overview/overview.js';
import { connect, connected, disconnectAll } from '../support/clients.js';
import { until } from '../support/until.js';
import { runApp, stopAll } from './support/application.js';

afterEach(async () => {
  disconnectAll();
  await stopAll();
});

const account = { ADMIN_USER: 'op', ADMIN_PASSWORD: 'secret' };
const authorization = `Basic ${Buffer.from('op:secret').toString('base64')}`;

describe('the overview of an application', () => {
  test('counts clients, messages and rooms of all workers, and names addresses to the operator alone', async () => {
    const app = await runApp('chat.mjs', { env: account });
    const read = async () =>
      (await (await fetch(`${app.admin}/api/overview`, { headers: { authorization } })).json()) as Overview;
    const clients = Array.from({ length: 6 }, () => connect(app.url)) as unknown as {
      emit(event: string, text: string): void;
    }[];
    await Promise.all((clients as never[]).map((client) => connected(client)));
    const talking = setInterval(() => {
      for (const client of clients) client.emit('say', 'hello');
    }, 20);
    try {
      let overview = await read();
      await until(async () => {
        overview = await read();
        const { rates, rooms, clients, workers, addresses, latency, workersElsewhere } = overview;
        const isMeasured = rates.deliveries > 0 && rates.received > 0 && rates.cpu > 0 && addresses.length > 0;
        const isCounted = clients === 6 && rooms[0]?.members === 6 && rooms[0].perSecond > 0 && workersElsewhere === 0;
        // Each worker measures for itself, and one that is late is left out.
        const areThere = workers.length === 2 && workers.every(({ state }) => state === 'ready');
        return isMeasured && isCounted && areThere && latency.eventLoop !== undefined;
      });
      expect(overview).toMatchObject({ state: 'ready', clients: 6, namespaces: { '/': 6 }, hasNames: true });
      expect(overview.workers).toHaveLength(2);
      for (const worker of overview.workers) expect(worker).toMatchObject({ doesRespond: true, state: 'ready' });
      // The room of each socket is no room of the users.
      expect(overview.rooms).toMatchObject([{ namespace: '/', room: 'all', members: 6 }]);
      expect(overview.rates.received).toBeGreaterThan(0);
      expect(overview.rates.cpu).toBeGreaterThan(0);
      expect(overview.latency.eventLoop!.max).toBeGreaterThanOrEqual(0);
      expect(overview.workersElsewhere).toBe(0);
      expect(overview.addresses).toEqual([{ key: '127.0.0.1', perSecond: expect.any(Number) }]);
    } finally {
      clearInterval(talking);
    }
  });

  test('has no names without an account', async () => {
    const app = await runApp('chat.mjs', { args: ['--workers', '1'] });
    await connected(connect(app.url));
    const overview = (await (await fetch(`${app.admin}/api/overview`)).json()) as Overview;
    expect(overview).toMatchObject({ clients: 1, hasNames: false, rooms: [], addresses: [], namespaces: {} });
    expect((await fetch(`${app.admin}/admin/`)).headers.get('content-security-policy')).toMatch(/script-src 'self'/);
  });
});
