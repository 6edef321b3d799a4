// The prose of TypeScript and JavaScript: comments and string literals.

/** Characters and words after which a slash begins a regular expression, not a division. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+*%<>~^-]|=>|\b(?:return|case|typeof|in|of))\s*$/;

/**
 * Comments and strings of a source file. Line comments that follow each other are one fragment, and so are strings that
 * are joined by `+`. A string without a space is a name or a path, not prose.
 * @param {string} source
 * @returns {import('./fragments.mjs').Fragment[]}
 */
export function fragmentsOfCode(source) {
  const parts = partsOf(source);
  const joined = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const gap = last && source.slice(last.end, part.start);
    const belongs = last?.kind === part.kind && (part.kind === 'line' ? /^\n\s*$/ : /^\s*\+\s*$/).test(gap);
    if (belongs) {
      last.text += `${' '.repeat(gap.length)}${part.text}`;
      last.end = part.end;
    } else joined.push({ ...part });
  }
  return joined
    .filter(({ kind, text }) => kind !== 'string' || /\S\s+\S/.test(text))
    .map(({ start, text }) => ({ start, text }));
}

/** @typedef {{ kind: 'line' | 'block' | 'string', start: number, end: number, text: string }} Part */

/** @param {string} source @returns {Part[]} */
function partsOf(source) {
  /** @type {Part[]} */
  const parts = [];
  let at = 0;
  /** Where the current line of code began, as far as it matters for telling a regular expression. */
  let code = '';

  /** Takes what the pattern matches here. @param {RegExp} pattern */
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  /** @param {Part['kind']} kind @param {string} found @param {(text: string) => string} mask */
  const add = (kind, found, mask) => parts.push({ kind, start: at - found.length, end: at, text: mask(found) });

  /** Reads code up to the end of the file or, within a template, up to its closing brace. @param {boolean} isNested */
  const readCode = (isNested) => {
    let depth = 0;
    while (at < source.length) {
      if (isNested && source[at] === '}' && depth === 0) return;
      let found = take(/\/\/[^\n]*/y);
      if (found !== undefined) {
        add('line', found, (text) => text.replace(/^\/+/, spaces));
        continue;
      }
      found = take(/\/\*[\s\S]*?\*\//y);
      if (found !== undefined) {
        add('block', found, (text) => text.replace(/^\/\*+|\*+\/$|^\s*\*/gm, spaces));
        continue;
      }
      found = take(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/y);
      if (found !== undefined) {
        add('string', found, (text) => ` ${text.slice(1, -1)} `);
        code = 'x';
        continue;
      }
      if (source[at] === '`') {
        readTemplate();
        code = 'x';
        continue;
      }
      if (source[at] === '/' && BEFORE_REGEX.test(code)) {
        if (take(/\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y)) {
          code = 'x';
          continue;
        }
      }
      if (source[at] === '{') depth++;
      if (source[at] === '}') depth--;
      code = (code + source[at]).slice(-20);
      at++;
    }
  };

  /** A template is one string; the code in it is replaced by spaces, but its own strings are read. */
  const readTemplate = () => {
    const start = at;
    const index = parts.length;
    let text = ' ';
    at++;
    while (at < source.length && source[at] !== '`') {
      if (source.startsWith('${', at)) {
        const from = at;
        at += 2;
        code = '';
        readCode(true);
        at++;
        text += ' '.repeat(at - from);
      } else {
        text += take(/\\[\s\S]|[^\\]/y);
      }
    }
    at++;
    parts.splice(index, 0, { kind: 'string', start, end: at, text: `${text} ` });
  };

  readCode(false);
  return parts;
}

/** @param {string} text */
function spaces(text) {
  return ' '.repeat(text.length);
}
