import { isMainThread } from 'node:worker_threads';
import { GjallarError } from '../../base/errors.js';
import type { Sockets } from './app.js';
import { type Binary, binaries, packageOfBinary } from './binaries.js';
import { checkRuntime, otherRuntime } from './runtime.js';

/** What the log, `/readyz`, `/metrics` and `gjallar doctor` say of the sockets. */
export interface SocketsFacts {
  kind: 'native' | 'portable';
  /** The package that the sockets come from. */
  source: string;
  /** Why they are portable, and what would bring native ones: clauses without a period. */
  reason?: string;
  remedy?: string;
  /** The same as one text, unless portable sockets were chosen. */
  warning?: string;
}

/**
 * @param chosen `native` accepts no portable sockets, `portable` no native ones
 * @throws GjallarError BAD_CONFIG, also on Bun
 */
export function loadSockets(chosen: string): { sockets?: Sockets; facts: SocketsFacts } {
  checkRuntime();
  if (!['', 'native', 'portable'].includes(chosen))
    throw new GjallarError('BAD_CONFIG', `GJALLAR_SOCKETS must be native or portable, not "${chosen}"`);
  if (chosen === 'portable') return portable('GJALLAR_SOCKETS is portable', 'unset GJALLAR_SOCKETS');
  // A listening app of uWebSockets.js aborts the whole process when its thread is terminated.
  if (chosen === '' && !isMainThread)
    return portable('uWebSockets.js cannot be used in a worker thread', 'serve from the main thread');
  const failures: string[] = [];
  for (const binary of otherRuntime ? [] : binaries()) {
    const sockets = attempt(binary, failures);
    if (sockets) return { sockets, facts: { kind: 'native', source: binary.name } };
  }
  const reason = failures.at(-1) ?? (otherRuntime ? `${otherRuntime} cannot load uWebSockets.js` : NO_BINARY);
  const remedy = remedyFor(failures);
  if (chosen === 'native')
    throw new GjallarError('BAD_CONFIG', `GJALLAR_SOCKETS is native, but ${reason}. To mend that, ${remedy}`);
  return portable(reason, remedy, `the sockets are portable, and need more CPU: ${reason}`);
}

const REMOVE = 'remove the folder node_modules/@uwsjs, and ';
const NO_BINARY = 'no binary of uWebSockets.js is installed';

function portable(reason: string, remedy: string, warning?: string) {
  const facts = { kind: 'portable' as const, source: 'node:http', reason, remedy };
  return { facts: warning === undefined ? facts : { ...facts, warning } };
}

function attempt({ name, load }: Binary, failures: string[]): Sockets | undefined {
  try {
    const sockets = load();
    // npm has packages of this name that hold nothing.
    const missing = NEEDED.find((part) => typeof sockets?.[part] !== 'function');
    if (!missing) return sockets;
    failures.push(`${name} does not export ${missing}()`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!ABSENT.includes(code ?? ''))
      failures.push(`${name} does not load: ${message.split('\n', 1)[0]!.replace(/\.$/, '')}`);
  }
  return undefined;
}

const NEEDED = ['App', 'SSLApp', 'us_listen_socket_close', 'us_socket_local_port'] as const;

/** There is no such package, or, of a package that can only be imported, no binary for this Node and platform. */
const ABSENT = ['MODULE_NOT_FOUND', 'ERR_PACKAGE_PATH_NOT_EXPORTED'];

function remedyFor(failures: readonly string[]): string {
  const { node } = process.versions;
  if (otherRuntime) return 'run the application with Node.js';
  if (failures.some((failure) => failure.includes('GLIBC_')))
    return 'use a system with glibc 2.38 or later, such as Debian 13 or Ubuntu 24.04, or Node.js 22';
  if (!glibcVersion() && process.platform === 'linux')
    return 'use a system with glibc, such as Debian or Ubuntu: uWebSockets.js has no binary for musl';
  // npm does not install a version again that is there.
  const isDamaged = failures.some((failure) => failure.startsWith('@uwsjs/'));
  if (packageOfBinary) return `${isDamaged ? REMOVE : ''}run: npm install ${packageOfBinary}`;
  return `use Node.js 22, 24 or 26 instead of ${node}`;
}

/** undefined on systems with another C library, such as Alpine. */
function glibcVersion(): string | undefined {
  const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}
