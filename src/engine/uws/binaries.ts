import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Sockets } from './app.js';

/** A place where uWebSockets.js may be installed. */
export interface Binary {
  /** As a person would call it: a package and its version. */
  name: string;
  /** @throws where it is not there, or does not run on this machine */
  load(): Sockets;
}

const require = createRequire(import.meta.url);
const { platform, arch, versions } = process;
const [major] = versions.node.split('.');

/** The binaries that gjallar lists as optional dependencies, for Node's major versions. Node 20 and 22 need glibc 2.27. */
const VERSIONS: Record<string, string> = { 20: '20.51.4', 22: '20.51.4', 24: '20.69.0', 26: '20.69.0' };

/** The package with the binary for this Node and platform, as `npm install` takes it; undefined if there is none. */
export const packageOfBinary = VERSIONS[major!] && `@uwsjs/${platform}-${arch}-${major}@${VERSIONS[major!]}`;

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
  const requires = program ? [createRequire(join(dirname(program), 'x.js')), require] : [require];
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
      return require(path ?? folder);
    },
  };
}

/** A package with the binary for one platform, which lies beside its program. */
function requireWhole(name: string): Sockets {
  const file = join(dirname(require.resolve(name)), 'uws.node');
  if (existsSync(file)) checkWhole(file);
  return require(name);
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
export function checkWhole(file: string): void {
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
