import { execFileSync } from 'node:child_process';

/** Writes a private key, and a certificate of it for localhost that is valid for so many days. */
export function writeCertificate(key: string, cert: string, days = 2): void {
  const how = `-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days ${days} -subj /CN=localhost`.split(' ');
  execFileSync('openssl', ['req', ...how, '-keyout', key, '-out', cert], { stdio: 'ignore' });
}
