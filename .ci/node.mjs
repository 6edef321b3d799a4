#!/usr/bin/env node
// Puts a Node.js of another major version into a folder, and prints the folder of its program: .ci/node.mjs 24 folder
//
// uWebSockets.js's binaries for Node 24 and 26 need glibc 2.38. Where the machine has an older one, this Node gets the C
// library of Debian's next release beside it, unpacked and not installed, so that nothing else on the machine uses it.
// Where that fails, the program is printed all the same: gjallar then runs on its portable sockets.

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const NEEDED_GLIBC = 2.38;
const RELEASE = 'trixie';
const LIBRARIES = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'zlib1g'];

const [major, target] = process.argv.slice(2);
if (!/^\d+$/.test(major ?? '') || !target) {
  console.error('usage: .ci/node.mjs MAJOR FOLDER');
  process.exit(2);
}
const folder = resolve(target);
const bin = join(folder, 'bin');
const program = join(bin, 'node');
mkdirSync(bin, { recursive: true });

copyFileSync(download(), program);
chmodSync(program, 0o755);
if (glibc() < NEEDED_GLIBC) {
  try {
    giveNewerGlibc();
  } catch (error) {
    console.error(
      `Node ${major} keeps glibc ${glibc()}, so it runs on portable sockets: ${error.message.split('\n')[0]}`,
    );
  }
}
console.error(`Node ${run(program, ['--version'])} is in ${bin}`);
console.log(bin);

/** The program itself, which npm's package `node` takes from a package for each platform. */
function download() {
  const name = `node-${process.platform}-${process.arch}`;
  run('npm', ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', `${name}@${major}`]);
  return join(folder, 'node_modules', name, 'bin/node');
}

function glibc() {
  return Number(process.report.getReport().header.glibcVersionRuntime ?? 0);
}

function giveNewerGlibc() {
  const root = join(folder, 'root');
  const packages = join(folder, 'packages');
  mkdirSync(join(packages, 'lists/partial'), { recursive: true });
  mkdirSync(join(packages, 'cache/archives/partial'), { recursive: true });
  const list = join(packages, 'sources.list');
  writeFileSync(list, `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror()} ${RELEASE} main\n`);
  const options = [
    `Dir::Etc::sourcelist=${list}`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::lists=${packages}/lists`,
    `Dir::Cache=${packages}/cache`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option]);
  run('apt-get', [...options, '-qq', 'update']);
  run('apt-get', [...options, '-qq', 'download', ...LIBRARIES], { cwd: packages });
  for (const name of readdirSync(packages).filter((each) => each.endsWith('.deb')))
    run('dpkg', ['-x', join(packages, name), root]);
  const library = join(root, 'usr/lib', process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu');
  const loader = readdirSync(library).find((name) => /^ld-linux-.*\.so\.\d$/.test(name));
  if (!loader) throw new Error(`${RELEASE} has no dynamic loader in ${library}`);
  if (!existsSync('/usr/bin/patchelf')) run('apt-get', ['-qq', '-y', 'install', 'patchelf']);
  const patched = `${program}-patched`;
  copyFileSync(program, patched);
  run('patchelf', ['--set-interpreter', join(library, loader), '--set-rpath', library, patched]);
  run(patched, ['--version']);
  copyFileSync(patched, program);
}

/** Where this machine takes Debian's packages from. */
function mirror() {
  const folder = '/etc/apt/sources.list.d';
  const files = [
    '/etc/apt/sources.list',
    ...readdirSync(folder)
      .filter((name) => /\.(list|sources)$/.test(name))
      .map((name) => join(folder, name)),
  ];
  for (const file of files.filter((each) => existsSync(each))) {
    const text = readFileSync(file, 'utf8');
    const [, found] = /^(?:URIs:|deb(?: \[.*\])?)\s+(\S+\/debian\/?)(?=\s)/m.exec(text) ?? [];
    if (found) return found;
  }
  throw new Error('no source of Debian packages is configured');
}

function run(command, args, options = {}) {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options }).trim();
}
