import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CertificateWatch } from '../../src/operations/certificate.js';
import { Warnings } from '../../src/operations/warnings.js';
import { writeCertificate } from '../support/certificate.js';
import { startServer } from '../support/server.js';
import { eventually } from '../support/until.js';

const EXPIRED = 'the certificate of TLS_CERT has expired: clients cannot connect';
const DAY_MS = 86_400_000;

let folder: string;
let key: string;
let cert: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gjallar-certificate-'));
  key = join(folder, 'key.pem');
  cert = join(folder, 'cert.pem');
});
afterEach(() => rmSync(folder, { recursive: true }));

function watchAt(file: string, now: () => number) {
  const lines: [string, string][] = [];
  const line = (level: string) => (_fields: object, message: string) => lines.push([level, message]);
  const warnings = new Warnings(() => 0);
  const reports = {
    problems: new Set<string>(),
    warnings,
    log: { error: line('error'), warn: line('warn'), info: line('info') },
  };
  return { watch: new CertificateWatch(file, reports, now), lines, warnings, problems: reports.problems };
}

test('a certificate that expires soon has one warning, and one that has expired is a problem until it is renewed', () => {
  writeCertificate(key, cert, 30);
  let now = Date.now();
  const { watch, lines, problems, warnings } = watchAt(cert, () => now);
  expect([lines, [...problems]]).toEqual([[], []]);
  now += 17 * DAY_MS;
  for (let times = 0; times < 3; times++) watch.check();
  const warning = ['warn', 'the certificate of TLS_CERT expires soon; renew it, and send SIGHUP'];
  expect([lines, [...problems], warnings.list]).toEqual([[warning], [], [warning[1]]]);
  now = watch.expiresAt;
  for (let times = 0; times < 3; times++) watch.check();
  expect([lines.slice(1), [...problems]]).toEqual([[['error', EXPIRED]], [EXPIRED]]);
  now -= DAY_MS;
  watch.check();
  expect([lines.slice(2), [...problems]]).toEqual([[['info', `over: ${EXPIRED}`]], []]);
  watch.close();
});

test('the certificate of a chain that expires first counts', () => {
  const intermediate = join(folder, 'intermediate.pem');
  writeCertificate(key, intermediate, 3);
  writeCertificate(key, cert, 30);
  const first = watchAt(intermediate, Date.now).watch;
  writeFileSync(cert, readFileSync(cert, 'utf8') + readFileSync(intermediate, 'utf8'));
  const chain = watchAt(cert, Date.now).watch;
  expect(chain.expiresAt).toBe(first.expiresAt);
  for (const watch of [first, chain]) watch.close();
});

test('the metric has the time of the certificate, and after SIGHUP that of the renewed one', async () => {
  writeCertificate(key, cert, 2);
  const server = await startServer({ TLS_KEY: key, TLS_CERT: cert, WORKERS: '1', ADMIN_PORT: '0' });
  try {
    const { port } = await server.logged(({ msg }) => msg === 'the admin port is open');
    const daysLeft = async () => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const [, seconds] = /^gjallar_certificate_expiry_timestamp_seconds\{worker="\d+"\} (\S+)$/m.exec(text)!;
      return Math.round((Number(seconds) * 1000 - Date.now()) / DAY_MS);
    };
    await eventually(async () => expect(await daysLeft()).toBe(2));
    writeCertificate(key, cert, 40);
    server.process.kill('SIGHUP');
    await server.logged(({ msg }) => msg === 'reload finished');
    await eventually(async () => expect(await daysLeft()).toBe(40));
  } finally {
    await server.stop();
  }
});
