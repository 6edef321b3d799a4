// The prose of a file: paragraphs, table cells, comments, string literals. What is not prose inside a fragment is replaced
// by spaces, so that positions stay those of the file.

import { extname } from 'node:path';
import { fragmentsOfCode } from './code.mjs';

/** @typedef {{ start: number, text: string }} Fragment */

const readers = {
  '.md': fragmentsOfMarkdown,
  '.json': fragmentsOfJson,
  '.html': fragmentsOfHtml,
  '.ts': fragmentsOfCode,
  '.js': fragmentsOfCode,
  '.mjs': fragmentsOfCode,
};

/** @param {string} path @param {string} text @returns {Fragment[]} */
export function fragmentsOf(path, text) {
  const read = readers[extname(path)];
  if (!read) throw new Error(`${path}: no prose is known in files of this kind; add it to fragments.mjs`);
  return read(text);
}

/** Parts of Markdown that are no prose of their own, in the order in which they are removed. */
const NOT_PROSE = [
  // The title of a test, which comes from the test.
  /› .+?(?= \||; `test\/)/g,
  // The help of a metric, which comes from src/; a test holds the table to it.
  /^\| `(?:gjallar|process|nodejs)_.*$/gm,
  /^ *```[\s\S]*?^ *```/gm,
  /^(?: {4,}.*\n)+/gm,
  /`[^`\n]*`/g,
  /<!--[\s\S]*?-->/g,
];

/** @param {string} text */
function fragmentsOfMarkdown(text) {
  const masked = NOT_PROSE.reduce((rest, pattern) => rest.replace(pattern, blank), text);
  // A fragment ends at an empty line, a list item, a heading, a cell of a table.
  return split(masked, /\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s|#|\|)|\||(?<=^#.*)\n/gm);
}

/** @param {string} text */
function fragmentsOfJson(text) {
  return matches(text, /"(?:summary|description)":\s*"((?:[^"\\]|\\.)*)"/g);
}

/** @param {string} text */
function fragmentsOfHtml(text) {
  const labels = matches(text, /(?:content|placeholder|aria-label|title|alt)="([^"]*)"/g);
  return [...matches(text, />([^<]+)</g), ...labels];
}

/** The first group of each match. @param {string} text @param {RegExp} pattern */
function matches(text, pattern) {
  return [...text.matchAll(pattern)].map(({ index, 0: all, 1: part }) => ({
    start: index + all.lastIndexOf(part),
    text: part,
  }));
}

/** @param {string} text @param {RegExp} pattern */
function split(text, pattern) {
  const fragments = [];
  let start = 0;
  for (const { index, 0: gap } of text.matchAll(pattern)) {
    fragments.push({ start, text: text.slice(start, index) });
    start = index + gap.length;
  }
  fragments.push({ start, text: text.slice(start) });
  return fragments.filter((fragment) => fragment.text.trim() !== '');
}

/** @param {string} text */
function blank(text) {
  return text.replace(/[^\n]/g, ' ');
}
