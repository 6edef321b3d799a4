import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { expect, test } from '@jest/globals';
import { io } from 'socket.io-client';
import { writeCertificate } from '../support/certificate.js';
import { nextEvent } from '../support/clients.js';
import { atEnd } from '../support/ends.js';
import { temporaryFolder } from '../support/folder.js';
import { startServer } from '../support/server.js';
import { until } from '../support/until.js';

const folder = temporaryFolder();

/** What a new connection is shown. */
function fingerprintOn(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

test('SIGHUP makes the server use a renewed certificate, and clients come back by themselves', async () => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  writeCertificate(key, cert);
  const server = await startServer({ TLS_KEY: key, TLS_CERT: cert, WORKERS: '2', DRAIN_TIMEOUT: '500ms' });
  const client = io(server.url, { rejectUnauthorized: false, transports: ['websocket'], reconnectionDelay: 50 });
  atEnd(
    () => client.disconnect(),
    () => server.stop(),
  );
  await nextEvent(client, 'connect');
  const former = await fingerprintOn(server.port);
  writeCertificate(`${key}.new`, `${cert}.new`);
  renameSync(`${key}.new`, key);
  renameSync(`${cert}.new`, cert);
  expect(await fingerprintOn(server.port)).toBe(former);

  const returned = nextEvent(client, 'connect');
  server.process.kill('SIGHUP');
  await returned;
  // Old workers accept until their successors do.
  await until(async () => {
    const shown = await Promise.all(Array.from({ length: 8 }, () => fingerprintOn(server.port).catch(() => former)));
    return shown.every((fingerprint) => fingerprint !== former);
  });
  expect(await client.timeout(30_000).emitWithAck('echo', 'still here')).toBe('still here');
});
