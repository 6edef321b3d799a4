import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** What bundle.js puts in: an application that bundles gjallar has another package.json beside it. */
declare const PACKAGE: Package | undefined;

interface Package {
  readonly version: string;
  readonly homepage?: string;
}

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
 * `require()` of the folder that is built, for parts that are loaded once they are needed, and for packages. bundle.js has
 * those parts among its entries. It makes a plain `require()` of a call with a literal, which bundlers of applications follow;
 * packages that may be missing are named by variables, which bundlers leave alone.
 */
export const requireHere = createRequire(new URL('any.js', built));

/** The version of this package, and the site with its documentation. */
export const { version, homepage }: Package =
  typeof PACKAGE === 'undefined' ? JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) : PACKAGE;

/**
 * Where a reader finds a page of the documentation: on its site, or in the repository.
 * @param page its path in the repository
 */
export const pageOf = (page: string): string =>
  homepage ? `${homepage.replace(/\/$/, '')}/${page.replace(/md$/, 'html')}` : `${page} in the repository of gjallar`;
