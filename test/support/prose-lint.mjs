#!/usr/bin/env node
// Finds phrases in the project's prose that have a better word. Part of `npm run lint`.
//
//   node test/support/prose-lint.mjs [file…]     checks the given files; without any, the files of INCLUDED
//
// Prints `file:line: "phrase": suggestion` for each finding, and exits with 1 if there is one.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fragmentsOf } from './prose/fragments.mjs';
import { findPhrases } from './prose/phrases.mjs';

/**
 * The files that are checked, as globs from the root: `*`, `**` and `{a,b}`. In TypeScript and JavaScript, comments and
 * string literals are checked; in JSON, summaries and descriptions; in HTML, texts and labels.
 */
const INCLUDED = [
  'README.md',
  'SECURITY.md',
  'package.json',
  'docs/**/*.md',
  'docs/openapi.json',
  'examples/**/*.{md,js}',
  'public/**/*.{html,js,ts}',
  'src/**/*.ts',
];

/** A generated file, and sources whose prose is still to be rewritten. */
const EXCLUDED = ['docs/benchmarks.md'];

const root = fileURLToPath(new URL('../../', import.meta.url));
const given = process.argv.slice(2);
const files = given.length > 0 ? given.map((path) => resolve(path)) : includedFiles();
const findings = files.flatMap(check);
for (const finding of findings) console.log(finding);
if (findings.length > 0) {
  console.log(`\n${findings.length} phrases to replace. The list is test/support/prose/phrases.mjs.`);
  process.exitCode = 1;
}

/** @param {string} path */
function check(path) {
  const text = readFileSync(path, 'utf8');
  const shown = given.length > 0 ? path : relative(root, path);
  return fragmentsOf(path, text).flatMap((fragment) =>
    findPhrases(fragment.text).map(({ index, phrase, suggestion }) => {
      const line = text.slice(0, fragment.start + index).split('\n').length;
      return `${shown}:${line}: "${phrase}": ${suggestion}`;
    }),
  );
}

function includedFiles() {
  const excluded = EXCLUDED.map(patternOf);
  const found = INCLUDED.flatMap((glob) => {
    const pattern = patternOf(glob);
    const matches = filesBelow(join(root, glob.replace(/(?:^|\/)[^/]*[*{].*$/, ''))).filter((path) =>
      pattern.test(relative(root, path)),
    );
    if (matches.length === 0) throw new Error(`${glob} matches no file. Correct INCLUDED in prose-lint.mjs.`);
    return matches;
  });
  return [...new Set(found)].filter((path) => !excluded.some((pattern) => pattern.test(relative(root, path)))).sort();
}

/** All files of a folder, or the one file. @param {string} path @returns {string[]} */
function filesBelow(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path)
    .filter((name) => name !== 'node_modules' && !name.startsWith('.'))
    .flatMap((name) => filesBelow(join(path, name)));
}

/** @param {string} glob */
function patternOf(glob) {
  const source = glob.replace(/[.+^$()|[\]\\]/g, '\\$&').replace(/\*\*\/|\*|\{([^}]*)\}/g, (part, list) => {
    if (part === '**/') return '(?:.*/)?';
    return part === '*' ? '[^/]*' : `(?:${list.replaceAll(',', '|')})`;
  });
  return new RegExp(`^${source}$`);
}
