import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import '../support/long.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The paths of the files of a package. */
function packed(...more: string[]): string[] {
  const args = ['pack', '--dry-run', '--ignore-scripts', '--json', ...more];
  const { stdout } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' });
  const answer = JSON.parse(stdout) as { files: { path: string }[] }[] | Record<string, { files: { path: string }[] }>;
  const [{ files }] = Object.values(answer) as [{ files: { path: string }[] }];
  return files.map(({ path }) => path);
}

test('what gjallar compare needs is a package of its own', () => {
  const paths = packed('--workspace=gjallar-compare');
  expect(paths.filter((path) => !path.startsWith('dist/'))).toEqual(['package.json']);
  expect(paths).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts']));
});

test('the package has what runs, its pages and what they lead to, and nothing else', () => {
  const paths = packed();
  const outside = paths.filter(
    (path) =>
      !/^(dist|public|examples|deploy\/(haproxy|nginx))\/|^([^/]+|load\/README|docs\/(?!site).+)\.md$/.test(path),
  );
  expect(outside.sort()).toEqual(['LICENSE', 'ecosystem.config.js', 'package.json']);
  const { exports, bin } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
  const named = [bin.gjallar, ...Object.values(exports).flatMap((each) => Object.values(each as object))];
  const entries = named
    .filter((path) => typeof path === 'string' && path.length > 1)
    .map((path) => path.replace('./', ''));
  expect(entries.length).toBeGreaterThan(5);
  expect(paths).toEqual(expect.arrayContaining(entries));
});

test('links of the packed pages lead to files of the package, and messages name pages that it has', () => {
  const paths = packed();
  const dead: string[] = [];
  for (const page of paths.filter((path) => path.endsWith('.md'))) {
    const text = readFileSync(join(root, page), 'utf8').replace(/```.*?```/gs, '');
    // Pictures are not in the package.
    for (const [, link] of text.matchAll(/(?<!!\[[^\]]*)\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)) {
      if (!paths.includes(join(dirname(page), link!))) dead.push(`${page} → ${link}`);
    }
  }
  expect(dead).toEqual([]);
  const code = paths
    .filter((path) => /^dist\/.*\.js$/.test(path))
    .map((path) => readFileSync(join(root, path), 'utf8'));
  const named = code.flatMap((text) => text.match(/\bdocs\/[\w/-]+\.md/g) ?? []);
  expect(named.length).toBeGreaterThan(1);
  expect(named.filter((path) => !paths.includes(path))).toEqual([]);
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
