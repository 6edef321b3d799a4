import { createRequire } from 'node:module';
import { packageFile, packagePath } from '../../package.js';
import type { CompareOptions } from './options.js';

/** A way to run the application. */
export interface Way {
  readonly title: string;
  /** The arguments of Node.js. */
  readonly args: readonly string[];
  /** What the standard output must have said before all workers listen. */
  readonly greeting?: RegExp;
}

export function stockWay({ file, rest, nodeFlags }: CompareOptions): Way {
  return { title: `stock socket.io${versionAt(file)}`, args: [...nodeFlags, file, ...rest] };
}

export function gjallarWay({ file, rest, nodeFlags, workers }: CompareOptions, version: string): Way {
  if (workers === undefined) {
    const register = packageFile('dist/server/register.js').href;
    return { title: `gjallar ${version}`, args: [...nodeFlags, '--import', register, file, ...rest] };
  }
  const program = packagePath('dist/main.js');
  return {
    title: `gjallar ${version}, ${workers} ${workers === 1 ? 'worker' : 'workers'}`,
    args: [program, 'run', ...nodeFlags, file, '--workers', String(workers), '--', ...rest],
    greeting: /gjallar: .* (listens on port|runs with) /,
  };
}

/** The version of the application's copy of socket.io, after a space. */
function versionAt(file: string): string {
  try {
    return ` ${(createRequire(file)('socket.io/package.json') as { version: string }).version}`;
  } catch {
    return '';
  }
}
