import { copyFileSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The certificates of test/support/pem/. Each is for the name that its file has, and is signed by itself alone. */
export type CertificateName = 'localhost' | 'other.example' | 'visitor';

const fileOf = (name: CertificateName, part: 'key' | 'cert') =>
  fileURLToPath(new URL(`pem/${name}.${part}.pem`, import.meta.url));

/** The text of a private key and of its certificate. */
export function pemOf(name: CertificateName): { readonly key: string; readonly cert: string } {
  return { key: readFileSync(fileOf(name, 'key'), 'utf8'), cert: readFileSync(fileOf(name, 'cert'), 'utf8') };
}

/** Copies a private key and its certificate to where a test wants them. */
export function copyPem(key: string, cert: string, name: CertificateName = 'localhost'): void {
  copyFileSync(fileOf(name, 'key'), key);
  copyFileSync(fileOf(name, 'cert'), cert);
}
