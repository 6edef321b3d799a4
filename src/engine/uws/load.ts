import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { GjallarError } from '../../base/errors.js';
import { pageOf, requireHere } from '../../base/package.js';
import type { Sockets } from './app.js';
import { checkRuntime, otherRuntime } from './runtime.js';

/** A place where uWebSockets.js may be installed. */
export interface Binary {
  /** As a person would call it: a package and its version. */
  name: string;
  /** @throws where it is not there, or does not run on this machine */
  load(): Sockets;
}

const { platform, arch, versions } = process;
const [major] = versions.node.split('.');

/** The binaries that gjallar lists as optional dependencies, for Node's major versions. Node 20 and 22 need glibc 2.27. */
const VERSIONS: Record<string, string> = { 20: '20.51.4', 22: '20.51.4', 24: '20.69.0', 26: '20.69.0' };

const PAGE = `${pageOf('docs/guide/node-versions.md')} lists the systems with a binary for Node.js`;
/** One for all reasons, which the page tells apart. */
const REMEDY = VERSIONS[major!]
  ? `run: npm install @uwsjs/${platform}-${arch}-${major}@${VERSIONS[major!]}; ${PAGE}`
  : `use Node.js 22, 24 or 26; ${PAGE}`;

/** uWebSockets.js wherever it may be installed, in the order in which it is tried. */
export function binaries(): Binary[] {
  return [
    ...packagesNamed('uWebSockets.js').map(ownBinary),
    { name: `@uwsjs/${platform}-${arch}-${major}`, load: () => requireHere(`@uwsjs/${platform}-${arch}-${major}`) },
    ...packagesNamed('uws-pack').map(ownBinary),
  ];
}

/** The folders of a package: one that the application's program finds, and one that gjallar finds. */
function packagesNamed(name: string): string[] {
  const program = process.argv[1];
  const requires = program ? [createRequire(join(dirname(program), 'x.js')), requireHere] : [requireHere];
  const folders = requires.flatMap((each) => each.resolve.paths(name) ?? []);
  return [...new Set(folders)].map((folder) => join(folder, name));
}

/** The official package has its binaries at its root; npm's `uws-pack` has them in a folder, and can only be imported. */
function ownBinary(folder: string): Binary {
  const file = `uws_${platform}_${arch}_${versions.modules}.node`;
  return {
    name: folder,
    load() {
      const [path] = [join(folder, 'dist/bin', file), join(folder, file)].filter((each) => existsSync(each));
      return requireHere(path ?? folder);
    },
  };
}

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
 * @throws GjallarError BAD_CONFIG, also on Bun and old versions of Node.js
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
  if (chosen === 'native')
    throw new GjallarError('BAD_CONFIG', `GJALLAR_SOCKETS is native, but ${reason}. To mend that, ${REMEDY}`);
  return portable(reason, REMEDY, `the sockets are portable, and need more CPU: ${reason}`);
}

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
