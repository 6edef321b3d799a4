#!/usr/bin/env node
// Compares the binaries of uWebSockets.js with the SHA-256 sums in binaries.json: .ci/checksums.mjs [FOLDER]
//
// A user's npm takes the packages from a registry, without this repository's lock file. So a release asks the registry for
// each package that package.json lists, and compares what it gives. With a folder, such as node_modules, it compares the
// packages in there. To record a new version, compare the binary with the one of uWebSockets.js's own repository first.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const recorded = readJson(join(root, '.ci/binaries.json'));

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The packages with binaries that users install, with their versions. */
export function listedBinaries() {
  const { optionalDependencies } = readJson(join(root, 'package.json'));
  return Object.entries(optionalDependencies).filter(([name]) => name.startsWith('@uwsjs/'));
}

/**
 * What is wrong with a package, as one line.
 * @param {string} folder where the package is
 * @returns {string | undefined}
 */
export function wrongWith(name, version, folder) {
  const id = `${name}@${version}`;
  const wanted = recorded[id];
  if (!wanted)
    return `${id} has no checksum in .ci/binaries.json. Compare its binary with uWebSockets.js's own, and add it.`;
  const { version: found } = readJson(join(folder, 'package.json'));
  if (found !== version) return `${name} is there in version ${found} instead of ${version}. Run npm ci.`;
  const sum = createHash('sha256')
    .update(readFileSync(join(folder, 'uws.node')))
    .digest('hex');
  if (sum !== wanted)
    return `${id} has another binary than the recorded one: ${sum} instead of ${wanted}. Do not release.`;
  return undefined;
}

/** Compares all packages with what the registry gives. Returns what is wrong, as lines. */
export function compareWithRegistry() {
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-binaries-'));
  try {
    return listedBinaries().flatMap(([name, version]) => {
      const target = join(folder, name.replace('/', '-'));
      mkdirSync(target);
      const options = { cwd: target, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
      const file = execFileSync('npm', ['pack', '--silent', `${name}@${version}`], options).trim();
      execFileSync('tar', ['-xzf', file], options);
      return wrongWith(name, version, join(target, 'package')) ?? [];
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Compares the packages that are in a folder of node_modules. Returns what is wrong, as lines. */
function compareInstalled(folder) {
  const installed = listedBinaries().filter(([name]) => existsSync(join(folder, name)));
  if (installed.length === 0) return [`there is no binary of uWebSockets.js in ${folder}`];
  return installed.flatMap(([name, version]) => wrongWith(name, version, join(folder, name)) ?? []);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder] = process.argv;
  const wrong = folder ? compareInstalled(folder) : compareWithRegistry();
  for (const line of wrong) console.error(`checksums: ${line}`);
  if (wrong.length > 0) process.exit(1);
  console.log('The binaries of uWebSockets.js have the recorded checksums.');
}
