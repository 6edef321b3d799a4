import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { GjallarError } from '../base/errors.js';

/** The flags of Node.js that may load a compiler. */
const LOADING = new Set(['--import', '--require', '--loader']);

/**
 * The flags that let Node.js run a file of TypeScript: tsx, if the application has installed it, or none if Node.js removes
 * the types itself.
 * @param flags the user's own flags, which may load another compiler
 * @throws GjallarError BAD_CONFIG if neither is there
 */
export function typeScriptFlags(file: string, flags: readonly string[]): string[] {
  if (!/^\.[cm]?tsx?$/.test(extname(file)) || flags.some((flag) => LOADING.has(flag))) return [];
  try {
    return ['--import', pathToFileURL(createRequire(file).resolve('tsx')).href];
  } catch {
    if ((process.features as { typescript?: unknown }).typescript) return [];
    throw new GjallarError(
      'BAD_CONFIG',
      `Node.js ${process.version} cannot run ${file}, which is TypeScript; npm install --save-dev tsx, use Node.js 24, or ` +
        'give the file that your compiler writes',
    );
  }
}
