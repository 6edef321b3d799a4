import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../../support/folder.js';
import { copyPem } from '../../../support/pem.js';

const directory = temporaryFolder();
export const key = join(directory, 'key.pem');
export const cert = join(directory, 'cert.pem');
export const otherKey = join(directory, 'other-key.pem');
/** Neither a key nor a certificate. */
export const text = join(directory, 'text.pem');
/** A folder with a path as long as no socket can have. */
export const long = join(directory, 'x'.repeat(100));

export function writeFiles(): void {
  mkdirSync(long);
  copyPem(otherKey, cert, 'visitor');
  copyPem(key, cert);
  writeFileSync(text, 'neither key nor certificate');
}

export function removeFiles(): void {}
