import { afterEach, describe, expect, test } from '@jest/globals';
import { closeConnections, RawConnection } from '../../engine/support/tcp.js';
import { get } from '../support/requests.js';
import { closeAll } from '../support/servers.js';
import { application, attacks } from '../support/smuggling.js';

afterEach(async () => {
  closeConnections();
  await closeAll();
});

describe.each(Object.entries(attacks))('%s', (_name, parts) => {
  test('is served as one request at most, and its connection ends', async () => {
    const { seen, port } = await application();
    const connection = await RawConnection.to(port);
    for (const part of parts) {
      connection.write(part);
      await get(port, '/fence');
    }
    connection.socket.end();
    await connection.closed;
    await get(port, '/fence');
    expect(seen.map(({ request }) => request).filter((request) => request.includes('smuggled'))).toEqual([]);
    expect(connection.statuses.length).toBeLessThanOrEqual(1);
  });
});
