import { get } from 'node:https';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, disconnectAll, expectOk, upgraded } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { copyPem } from '../../support/pem.js';
import type { RunningServer } from '../../support/server.js';
import { sharedServer } from '../../support/server.js';
import { expectOnceAndInOrder } from '../../support/talk.js';

/** The chat service on portable sockets, on two workers. */

const folder = temporaryFolder();
const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
copyPem(key, cert);

afterEach(disconnectAll);

describe.each([
  ['without TLS', {}],
  ['with TLS', { TLS_KEY: key, TLS_CERT: cert }],
])('%s', (_how, tls: Record<string, string>) => {
  const server = sharedServer({ GJALLAR_SOCKETS: 'portable', WORKERS: '2', ...tls });

  test('clients on both workers talk, in order', async () => {
    // One stays on polling, and most start on it.
    const ways = [{}, {}, {}, { transports: ['websocket'] }, { transports: ['polling'] }];
    const clients = ways.map((way) => connect(server.url, { ...way, rejectUnauthorized: false } as object));
    await Promise.all(clients.slice(0, 4).map(upgraded));
    for (const client of clients) expectOk(await client.emitWithAck('join', 'room'));
    await expectOnceAndInOrder(clients, 'room', 50);
  });

  test('the metrics name the sockets', async () => {
    const text = tls.TLS_KEY ? await textOverTls(server) : await (await fetch(`${server.url}/metrics`)).text();
    expect(text).toMatch(/^gjallar_build_info\{.*sockets="portable".*\} 1$/m);
  });
});

function textOverTls({ port }: RunningServer): Promise<string> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/metrics', rejectUnauthorized: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => resolve(text));
    });
  });
}
