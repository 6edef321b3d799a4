import { readFileSync } from 'node:fs';
import { packageFile } from './package.js';

/** The version of this package. */
export const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
  readonly version: string;
};
