import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import '../support/long.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Packed {
  size: number;
  files: { path: string }[];
}

/** A package as npm makes it. */
function pack(...more: string[]): Packed {
  const args = ['pack', '--dry-run', '--ignore-scripts', '--json', ...more];
  const { stdout } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' });
  const answer = JSON.parse(stdout) as Packed[] | Record<string, Packed>;
  return Object.values(answer)[0]!;
}

/** The paths of the files of a package. */
const packed = (...more: string[]): string[] => pack(...more).files.map(({ path }) => path);

test('what gjallar compare needs is a package of its own', () => {
  const paths = packed('--workspace=gjallar-compare');
  expect(paths.filter((path) => !path.startsWith('dist/'))).toEqual(['package.json']);
  expect(paths).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts']));
});

/** Pages of the documentation are on the site. */
test('the package has what runs and nothing else, in 410 kB', () => {
  expect(pack().size).toBeLessThan(410_000);
  const paths = packed();
  const outside = paths.filter((path) => !/^(dist|public)\//.test(path));
  const pages = ['CHANGELOG.md', 'README.md', 'SECURITY.md'];
  expect(outside.sort()).toEqual([...pages, 'LICENSE', 'ecosystem.config.js', 'package.json'].sort());
  const { exports, bin } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
  const named = [bin.gjallar, ...Object.values(exports).flatMap((each) => Object.values(each as object))];
  const entries = named
    .filter((path) => typeof path === 'string' && path.length > 1)
    .map((path) => path.replace('./', ''));
  expect(entries.length).toBeGreaterThan(5);
  expect(paths).toEqual(expect.arrayContaining(entries));
});

test('links of the packed pages and messages lead to files of the repository', () => {
  const paths = packed();
  const isThere = (path: string) => existsSync(join(root, path));
  const dead: string[] = [];
  for (const page of paths.filter((path) => path.endsWith('.md'))) {
    const text = readFileSync(join(root, page), 'utf8').replace(/```.*?```/gs, '');
    for (const [, link] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
      if (!isThere(join(dirname(page), link!))) dead.push(`${page} → ${link}`);
    }
  }
  expect(dead).toEqual([]);
  const code = paths
    .filter((path) => /^dist\/.*\.js$/.test(path))
    .map((path) => readFileSync(join(root, path), 'utf8'));
  const named = code.flatMap((text) => text.match(/\bdocs\/[\w/-]+\.md/g) ?? []);
  expect(named.length).toBeGreaterThan(1);
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});

test('a dry run of a release names the fields of package.json that npm needs and that are not set', () => {
  const { status, stdout } = spawnSync(process.execPath, ['.ci/release.mjs', '--dry-run'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  const { repository, bugs, homepage, author } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
  const unset = Object.entries({ repository, bugs, homepage, author })
    .filter(([, value]) => !value)
    .map(([name]) => name);
  const lines = stdout.split('\n').filter((line) => line.startsWith('To do: '));
  expect(lines).toEqual(unset.length > 0 ? [expect.stringContaining(`set ${unset.join(', ')} in package.json`)] : []);
});
