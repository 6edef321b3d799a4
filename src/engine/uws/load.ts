import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { GjallarError } from '../../base/errors.js';
import { requireHere } from '../../base/package.js';
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

/** The package with the binary for this Node and platform, as `npm install` takes it; undefined if there is none. */
const packageOfBinary = VERSIONS[major!] && `@uwsjs/${platform}-${arch}-${major}@${VERSIONS[major!]}`;

/** uWebSockets.js wherever it may be installed, in the order in which it is tried. */
export function binaries(): Binary[] {
  return [
    ...packagesNamed('uWebSockets.js').map(ownBinary),
    { name: `@uwsjs/${platform}-${arch}-${major}`, load: () => requireWhole(`@uwsjs/${platform}-${arch}-${major}`) },
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
      if (path) checkWhole(path);
      return requireHere(path ?? folder);
    },
  };
}

/** A package with the binary for one platform, which lies beside its program. */
function requireWhole(name: string): Sockets {
  const file = join(dirname(requireHere.resolve(name)), 'uws.node');
  if (existsSync(file)) checkWhole(file);
  return requireHere(name);
}

/** Where a file of 64-bit ELF says how long it is: its table of sections comes last. Source: elf(5). */
const HEAD_BYTES = 64;
const MAGIC = 0x7f454c46;
const SECTIONS_AT = 0x28;
const SECTION_BYTES_AT = 0x3a;
const SECTIONS_NUMBER_AT = 0x3c;

/**
 * A library of which the end is missing, as after a full disk, ends the process with SIGBUS when it is loaded.
 * @throws Error if the end is missing
 */
function checkWhole(file: string): void {
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    if (readSync(descriptor, head) < HEAD_BYTES || head.readUInt32BE(0) !== MAGIC) return;
    const end =
      Number(head.readBigUInt64LE(SECTIONS_AT)) +
      head.readUInt16LE(SECTION_BYTES_AT) * head.readUInt16LE(SECTIONS_NUMBER_AT);
    if (fstatSync(descriptor).size < end) throw new Error(`the end of ${file} is missing`);
  } finally {
    closeSync(descriptor);
  }
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
