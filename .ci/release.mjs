#!/usr/bin/env node
// Makes a release: `npm run release -- [--major | --minor | --patch] [--dry-run]`. Without a level, the patch version rises.
//
// Sets the version, adds a section to CHANGELOG.md from its section "Unreleased" and the commits since the last tag, commits,
// and tags. Before that, it compares the binaries of uWebSockets.js in the registry with their recorded checksums. It pushes and
// publishes nothing; the workflow "release" does that for a pushed tag. --dry-run only prints what would happen.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compareWithRegistry } from './checksums.mjs';

const levels = ['major', 'minor', 'patch'];
const flag = { type: 'boolean', default: false };
const { values } = parseArgs({ options: { major: flag, minor: flag, patch: flag, 'dry-run': flag } });
const dryRun = values['dry-run'];
const level = levels.find((each) => values[each]) ?? 'patch';

const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const git = (...args) => run('git', ...args).trim();
/** An answer of git that may be missing. */
const ifAny = (ask) => {
  try {
    return ask();
  } catch {
    return '';
  }
};

if (!dryRun && git('status', '--porcelain')) {
  console.error('release: the working tree has changes. Commit or remove them first.');
  process.exit(1);
}

const { name, version: present, ...fields } = JSON.parse(readFileSync('package.json', 'utf8'));
// npm's page of the package links to them, and its provenance compares the repository with the one that publishes.
const unset = ['repository', 'bugs', 'homepage', 'author'].filter((field) => !fields[field]);
const missing = `set ${unset.join(', ')} in package.json before the first publication: npm requires the repository for provenance.`;
if (unset.length > 0 && !dryRun) {
  console.error(`release: ${missing}`);
  process.exit(1);
}
const wrong = compareWithRegistry();
for (const line of wrong) console.error(`release: ${line}`);
if (wrong.length > 0) process.exit(1);
const lastTag = ifAny(() => git('describe', '--tags', '--abbrev=0', '--match', 'v*'));
// The first release has the version that package.json already names.
const version = lastTag ? raised(present) : present;
const [head, ...sections] = readFileSync('CHANGELOG.md', 'utf8').split(/^(?=## )/m);
const UNRELEASED = /^## Unreleased\n+/;
const unreleased = sections
  .find((each) => UNRELEASED.test(each))
  ?.replace(UNRELEASED, '')
  .trim();
const written = unreleased ? [unreleased, '', '### Commits', ''] : [];
const section = [`## ${version}`, '', ...written, ...changes(), ''].join('\n');
const contents = JSON.parse(run('npm', 'pack', '--dry-run', '--ignore-scripts', '--json'));
const { files, size, unpackedSize, entryCount } = Array.isArray(contents) ? contents[0] : contents[name];

console.log(section);
for (const [folder, inside] of byFolder(files)) {
  console.log(
    `${folder.padEnd(24)} ${inside.length} files, ${kilobytes(inside.reduce((sum, each) => sum + each.size, 0))}`,
  );
}
console.log(`${name}@${version}: ${entryCount} files, ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked`);

if (dryRun) console.log('Nothing was changed (--dry-run).');
if (dryRun && unset.length > 0) console.log(`To do: ${missing}`);
if (!dryRun) release();

function release() {
  const rest = sections.filter((each) => !UNRELEASED.test(each));
  writeFileSync(
    'CHANGELOG.md',
    [head.trimEnd(), section.trimEnd(), ...rest.map((each) => each.trimEnd())].join('\n\n').concat('\n'),
  );
  if (version !== present) {
    const parts = ['gjallar-compare', 'gjallar-nats'].map((name) => `--workspace=${name}`);
    run('npm', 'version', version, '--no-git-tag-version', ...parts, '--include-workspace-root');
    const packages = 'src/base/optional-packages.ts';
    const line = version.split('.', 2).join('.');
    const versions = readFileSync(packages, 'utf8').replace(
      /'(gjallar-\w+)': \{.*\}/g,
      `'$1': { from: '${line}.0', line: '${line}' }`,
    );
    writeFileSync(packages, versions);
    for (const file of ['deploy/helm/gjallar/Chart.yaml', 'deploy/kubernetes/deployment.yaml']) {
      const text = readFileSync(file, 'utf8');
      const versions = /^( *(?:version|appVersion): |.* image: gjallar:)\d+\.\d+\.\d+$/gm;
      writeFileSync(file, text.replace(versions, `$1${version}`));
    }
  }
  git('commit', '--all', '--message', `Release ${version}`);
  git('tag', '--annotate', `v${version}`, '--message', `${name} ${version}`);
  console.log(`Tagged v${version}. To publish it: git push --follow-tags`);
}

function changes() {
  if (!lastTag) return ['The first release.'];
  const subjects = git('log', '--no-merges', '--format=%s', `${lastTag}..HEAD`).split('\n').filter(Boolean);
  return subjects.map((subject) => `- ${subject}`);
}

function raised(from) {
  const parts = from.split('.').map(Number);
  const index = levels.indexOf(level);
  return parts.map((part, at) => (at < index ? part : at === index ? part + 1 : 0)).join('.');
}

function byFolder(list) {
  const map = new Map();
  for (const file of list) {
    const folder = file.path.replace(/\/.*/, '/');
    map.set(folder, [...(map.get(folder) ?? []), file]);
  }
  return map;
}

function kilobytes(bytes) {
  return `${Math.ceil(bytes / 1000).toLocaleString('en')} KB`;
}
