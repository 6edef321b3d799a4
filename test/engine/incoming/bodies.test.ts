import { afterEach, describe, expect, test } from '@jest/globals';
import type { Engine } from '../../../src/engine/engine.js';
import { Server, type ServerOptions } from '../../../src/index.js';
import { closeAll, run } from '../../io/server/support/servers.js';
import { until } from '../../support/until.js';
import { closeEngines } from '../support/engine.js';
import { openPolling } from '../support/raw.js';
import { closeConnections, RawConnection } from '../support/tcp.js';

/** Bodies of which a part is missing, or was not read. */

afterEach(async () => {
  closeConnections();
  closeEngines();
  await closeAll();
});

describe.each(['auto', 'node'] as const)('with the port owner %s', (portOwner) => {
  async function start(options: Partial<ServerOptions> = {}) {
    const { io, port, url } = await run(Server, undefined, { portOwner, ...options });
    return { engine: io.engine as unknown as Engine, port, url: `${url}/socket.io/?EIO=4` };
  }

  /** A POST to a session of its own, of which `bytes` are sent. */
  async function half({ url, port }: { url: string; port: number }, bytes: number) {
    const { url: session } = await openPolling(url);
    const connection = await RawConnection.to(port);
    const { pathname, search } = new URL(session);
    connection.write(`POST ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n`);
    connection.write('x'.repeat(bytes));
    return connection;
  }

  test('what has arrived counts until the client is gone', async () => {
    const served = await start();
    const connection = await half(served, 400_000);
    await until(() => served.engine.incoming.total >= 400_000);
    expect(served.engine.incoming.total).toBeLessThan(1_600_000);
    connection.socket.destroy();
    await until(() => served.engine.incoming.total === 0);
    expect(served.engine.incoming.holders.size).toBe(0);
  });

  test('what has arrived counts no longer once its session ends', async () => {
    const served = await start();
    const connection = await half(served, 400_000);
    await until(() => served.engine.incoming.total >= 400_000);
    for (const session of Object.values(served.engine.clients)) session.close(true);
    await connection.closed;
    expect([served.engine.incoming.total, served.engine.incoming.holders.size]).toEqual([0, 0]);
  });

  test('a body that is complete no longer counts', async () => {
    const served = await start();
    const session = await openPolling(served.url);
    expect((await session.post(`4${'x'.repeat(900_000)}`))[0]).toBe(200);
    expect([served.engine.incoming.total, served.engine.incoming.holders.size]).toEqual([0, 0]);
  });

  test('beyond the budget, the largest one is answered 503, and the others stay', async () => {
    const served = await start({ maxBuffered: 2_000_000 });
    const small = await half(served, 100_000);
    await until(() => served.engine.incoming.total >= 100_000);
    const large = await half(served, 800_000);
    await until(() => served.engine.incoming.total >= 900_000 || large.statuses.length > 0);
    const third = await half(served, 700_000);
    const all = [small, large, third];
    await half(served, 600_000);
    await until(() => served.engine.bufferBudget.closedIncoming > 0);
    await until(() => all.some(({ statuses }) => statuses.length > 0));
    expect(small.statuses).toEqual([]);
    expect(all.flatMap(({ statuses }) => statuses)).toContain('HTTP/1.1 503 Service Unavailable');
    expect(served.engine.incoming.total).toBeLessThanOrEqual(2_000_000);
  });
});
