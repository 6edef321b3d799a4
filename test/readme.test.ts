import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { errorCodes } from '../src/base/errors.js';
import { allOptions, options, runOptions } from '../src/host/config/options.js';
import { handlers } from '../src/service/chat/handlers/index.js';

/** Holds the README, CONTRIBUTING.md and the pages of the guide and the reference to the code. */

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pagesOf = (folder: string) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
const guide = pagesOf('docs/guide');
const reference = pagesOf('docs/reference');
const { scripts, version } = JSON.parse(read('package.json')) as { scripts: Record<string, string>; version: string };

/** The lines of the table of a page whose head begins so. */
function table(page: string, head: string): string[] {
  const [, body = ''] = read(page).split(`\n| ${head} |`);
  return body.split('\n\n')[0]!.split('\n').slice(2);
}

test('the table of the configuration has every option with its default and description, in the same order', () => {
  const rows = Object.values(allOptions).map(
    ({ name, default: fallback, description }) => `| \`${name}\` | ${fallback} | ${description} |`,
  );
  expect(table('docs/reference/configuration.md', 'variable')).toEqual(rows);
});

test('the table of events has every event', () => {
  const events = table('docs/reference/events.md', 'client sends').map((row) => /^\| `(\w+)`/.exec(row)?.[1]);
  expect(events.sort()).toEqual([...handlers.keys(), 'echo'].sort());
});

test('every error code that a client can get is described, and no other', () => {
  const pages = [...reference, ...guide].filter((page) => !page.endsWith('configuration.md'));
  const described = pages.flatMap((page) =>
    [...read(page).matchAll(/`([A-Z]+(?:_[A-Z]+)*)`(?=[ .|\n])/g)].map(([, code]) => code!),
  );
  const codes = Object.keys(errorCodes).filter((code) => !['BAD_CONFIG', 'TOO_MANY_ROOMS_IN_CALL'].includes(code));
  expect(codes.filter((code) => !described.includes(code))).toEqual([]);
  const names = [options, runOptions].flatMap((table) => Object.values(table).map(({ name }) => name as string));
  expect(described.filter((word) => !codes.includes(word) && ![...names, ...otherNames].includes(word))).toEqual([]);
});

/** Names in the pages that are neither codes nor options. */
const otherNames = [
  'SQLITE_BUSY',
  'EADDRINUSE',
  'SIGTERM',
  'ADMIN_PASSWORD_FILE',
  'PORTABLE_SOCKETS',
  'UWS_HTTP_MAX_HEADERS_SIZE',
  'GET',
  'MAX_NAMED',
  'MAX_PAGE_BYTES',
  'PATCH',
];

describe.each(['README.md', 'CONTRIBUTING.md', ...guide, ...reference])('%s', (page) => {
  const text = read(page);

  test('scripts, files and version are there', () => {
    for (const [, script] of text.matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(script);
    for (const [, path] of text.matchAll(/\]\((?!http|#)([^)#]+)[^)]*\)/g)) {
      expect({ path, isThere: existsSync(join(root, dirname(page), path!)) }).toEqual({ path, isThere: true });
    }
    for (const [, named] of text.matchAll(/gjallar-(\d[\d.]*)\.tgz/g)) expect(named).toBe(version);
  });

  test('sections that links lead to are there', () => {
    for (const [, path, section] of text.matchAll(/\]\((?!http)([^)#]*)#([^)]+)\)/g)) {
      const target = path ? join(dirname(page), path) : page;
      const sections = [...read(target).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
        title!
          .toLowerCase()
          .replace(/[^\w\s-]/g, '')
          .replace(/ /g, '-'),
      );
      expect(sections).toContain(section);
    }
  });
});

test('the files and folders that the pages for contributors name are there', () => {
  const pages = ['CONTRIBUTING', 'docs/internals/house', 'docs/internals/message', 'docs/internals/adding'];
  const named = pages.flatMap((page) => [...read(`${page}.md`).matchAll(/`((?:src|test|load|docs)\/[\w./-]+)`/g)]);
  const paths = named.map(([, path]) => path!);
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the first page of the site has figures of the README', async () => {
  const { homePage } = await import(new URL('../docs/site/home.js', import.meta.url).href);
  const figures = [...homePage(read('README.md')).matchAll(/title: '(\d+)%', details: '.+: \d\S* \S+ instead of \d/g)];
  expect(figures.map(([, share]) => Number(share) > 0 && Number(share) < 100)).toEqual([true, true, true]);
});
