import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

// This module must be directly in the folder that is built, as the chunks are into which it is bundled.

/**
 * A file of the package.
 * @param path from the folder with package.json
 */
export const packageFile = (path: string): URL => new URL(`../${path}`, import.meta.url);

/** The same as a path of the file system. */
export const packagePath = (path: string): string => fileURLToPath(packageFile(path));

/**
 * Loads a part of gjallar once it is needed, without a promise: every supported version of Node.js can require a module
 * without top-level await. bundle.js has the part among its entries.
 * @param path from this folder
 */
export const loadPart = createRequire(import.meta.url) as <Part>(path: `./${string}.js`) => Part;

/** The version of this package. */
export const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
  readonly version: string;
};
