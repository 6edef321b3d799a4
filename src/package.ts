import { fileURLToPath } from 'node:url';

/**
 * A file of the package. This module must be directly in the folder that is built, as the chunks are into which it is
 * bundled.
 * @param path from the folder with package.json
 */
export const packageFile = (path: string): URL => new URL(`../${path}`, import.meta.url);

/** The same as a path of the file system. */
export const packagePath = (path: string): string => fileURLToPath(packageFile(path));
