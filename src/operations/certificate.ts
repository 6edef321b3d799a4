import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gauge, type Metric } from './metrics/metric.js';
import type { Reports } from './reports.js';

const EXPIRED = 'the certificate of TLS_CERT has expired: clients cannot connect';
const EXPIRING = 'the certificate of TLS_CERT expires soon; renew it, and send SIGHUP';

const DAY_MS = 86_400_000;
/** From this time before the end on, the log warns. */
const WARN_MS = 14 * DAY_MS;
/** How often the time is compared. A timer for the day itself would miss a clock that is set. */
const INTERVAL_MS = 5000;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Watches how long the certificates that this worker uses are valid. A renewed file counts from a reload on, because only
 * new workers read it.
 */
export class CertificateWatch {
  /** When the first certificate of the chain expires, in ms since 1970. */
  readonly expiresAt: number;
  private readonly timer: NodeJS.Timeout;
  private hasWarned = false;

  /** @param file the PEM file with the chain */
  constructor(
    file: string,
    private readonly reports: Reports,
    private readonly now: () => number = Date.now,
  ) {
    this.expiresAt = expiryOf(readFileSync(file, 'utf8'));
    this.check();
    this.timer = setInterval(() => this.check(), INTERVAL_MS).unref();
  }

  /** Compares the clock with the end of the certificate. */
  check(): void {
    const { log, problems, warnings } = this.reports;
    const left = this.expiresAt - this.now();
    const fields = { expires: new Date(this.expiresAt).toISOString() };
    const isExpired = left <= 0;
    if (isExpired && !problems.has(EXPIRED)) log.error(fields, EXPIRED);
    // The clock was set back.
    if (!isExpired && problems.has(EXPIRED)) log.info(fields, `over: ${EXPIRED}`);
    if (isExpired) problems.add(EXPIRED);
    else problems.delete(EXPIRED);
    if (isExpired || left > WARN_MS) return;
    // Until the next check, at least.
    warnings.note(EXPIRING, 2 * INTERVAL_MS);
    if (!this.hasWarned) log.warn({ ...fields, days: Math.floor(left / DAY_MS) }, EXPIRING);
    this.hasWarned = true;
  }

  close(): void {
    clearInterval(this.timer);
  }
}

/** @param watch undefined without a certificate */
export function certificateMetrics(watch: CertificateWatch | undefined): Metric[] {
  return [
    gauge(
      'gjallar_certificate_expiry_timestamp_seconds',
      'When the certificate of TLS_CERT expires, or one of its chain before it, in seconds since 1970.',
      () => watch && watch.expiresAt / 1000,
    ),
  ];
}

/** An expired intermediate certificate keeps clients out, too. */
function expiryOf(pem: string): number {
  const chain = pem.match(CERTIFICATE) ?? [];
  return Math.min(...chain.map((one) => Date.parse(new X509Certificate(one).validTo)));
}
