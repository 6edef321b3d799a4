import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { handlers } from '../src/chat/handlers/index.js';
import { allOptions, options } from '../src/config/options.js';
import { errorCodes } from '../src/errors.js';

const root = new URL('../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');
const { scripts, version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  scripts: Record<string, string>;
  version: string;
};

/** The lines of the table whose head begins so. */
function table(head: string): string[] {
  const [, body = ''] = readme.split(`\n| ${head} |`);
  return body.split('\n\n')[0]!.split('\n').slice(2);
}

test('the table of the configuration has every option with its default and description, in the same order', () => {
  const rows = Object.values(allOptions).map(
    ({ name, default: fallback, description }) => `| \`${name}\` | ${fallback} | ${description} |`,
  );
  expect(table('variable')).toEqual(rows);
});

test('the table of events has every event', () => {
  const events = table('client sends').map((row) => /^\| `(\w+)`/.exec(row)?.[1]);
  expect(events.sort()).toEqual([...Object.keys(handlers), 'echo'].sort());
});

test('every error code that a client can get is described, and no other', () => {
  const described = [...readme.matchAll(/`([A-Z]+(?:_[A-Z]+)*)`(?=[ .|\n])/g)].map(([, code]) => code!);
  const codes = Object.keys(errorCodes).filter((code) => code !== 'BAD_CONFIG');
  expect(codes.filter((code) => !described.includes(code))).toEqual([]);
  const names = Object.values(options).map(({ name }) => name as string);
  expect(described.filter((word) => !codes.includes(word) && !names.includes(word))).toEqual([]);
});

test('scripts, files and version are there', () => {
  for (const [, script] of readme.matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(script);
  for (const [, path] of readme.matchAll(/\]\((?!http)([^)]+)\)/g)) {
    expect({ path, isThere: existsSync(fileURLToPath(new URL(path!, root))) }).toEqual({ path, isThere: true });
  }
  for (const [, folder] of readme.matchAll(/^ {4}((?:src|public|load|test)\S*) {2,}/gm)) {
    expect({ folder, isThere: existsSync(fileURLToPath(new URL(folder!, root))) }).toEqual({ folder, isThere: true });
  }
  for (const [, named] of readme.matchAll(/gjallar-(\d[\d.]*)\.tgz/g)) expect(named).toBe(version);
});
