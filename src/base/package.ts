import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The folder that is built. The bundler puts this module directly into it; otherwise it is in `base/`. */
const built = new URL(/\/base\/package\.[jt]s$/.test(import.meta.url) ? '..' : '.', import.meta.url);

/**
 * A file of the package.
 * @param path from the folder with package.json
 */
export const packageFile = (path: string): URL => new URL(`../${path}`, built);

/** The same as a path of the file system. */
export const packagePath = (path: string): string => fileURLToPath(packageFile(path));

/**
 * Loads a part of gjallar once it is needed, without a promise: every supported version of Node.js can require a module
 * without top-level await. bundle.js has the part among its entries.
 * @param path from the folder that is built
 */
export const loadPart = createRequire(new URL('any.js', built)) as <Part>(path: `./${string}.js`) => Part;

/** The version of this package, and the site with its documentation. */
export const { version, homepage } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as {
  readonly version: string;
  readonly homepage?: string;
};
