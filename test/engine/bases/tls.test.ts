import { get } from 'node:https';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { isSecureApp } from '../../../src/engine/sockets.js';
import { temporaryFolder } from '../../support/folder.js';
import { copyPem } from '../../support/pem.js';
import { closeWebSockets, openWebSocket } from '../support/raw.js';
import { closeConnections, RawConnection } from '../support/tcp.js';
import { bases, closeApps, start } from './support/bases.js';

const folder = temporaryFolder();
const [key_file_name, cert_file_name] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
copyPem(key_file_name, cert_file_name);

afterEach(() => {
  closeWebSockets();
  closeConnections();
  closeApps();
});

describe.each(bases)('the %s base', (_name, base) => {
  const body = Buffer.alloc(5_000_000, 'abc');
  const served = () =>
    start(
      base,
      (app) => {
        app.http('/large', (exchange) => exchange.send(200, {}, body));
        app.ws('/ws', {
          maxPayload: 1_000_000,
          open: (ws) => void ws.subscribe('t'),
          message: (_ws, message, isBinary) => void app.app.publish('t', message, isBinary, false),
        });
      },
      { key_file_name, cert_file_name },
    );

  test('the app says that it has TLS', () => {
    expect([isSecureApp(base({ key_file_name, cert_file_name })), isSecureApp(base())]).toEqual([true, false]);
  });

  test('responses and WebSockets are encrypted', async () => {
    const { port } = await served();
    const length = await new Promise<number>((resolve) => {
      get({ port, host: '127.0.0.1', path: '/large', rejectUnauthorized: false }, (response) => {
        let received = 0;
        response.on('data', (data: Buffer) => {
          received += data.length;
        });
        response.on('end', () => resolve(received));
      });
    });
    expect(length).toBe(body.length);
    const clients = [0, 1].map(() => openWebSocket(`https://127.0.0.1:${port}/ws?a=b`));
    await Promise.all(clients.map(({ status }) => status));
    for (const text of ['hi', 'x'.repeat(200_000)]) {
      clients[0]!.send(text);
      for (const client of clients) expect(await client.next()).toBe(text);
    }
  });

  test('a client without TLS is cut off, and others are served', async () => {
    const { port } = await served();
    const plain = await RawConnection.to(port);
    plain.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await plain.closed).not.toContain('200 OK');
    const client = openWebSocket(`https://127.0.0.1:${port}/ws?a=b`);
    expect(await client.status).toBe(101);
  });
});
