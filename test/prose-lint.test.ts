import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const program = fileURLToPath(new URL('support/prose-lint.mjs', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gjallar-prose-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the lint over one file with these lines. Returns its exit code, and the line and phrase of each finding. */
function lint(name: string, lines: string[]) {
  const path = join(folder, name);
  writeFileSync(path, `${lines.join('\n')}\n`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, path], { encoding: 'utf8' });
  expect(stderr).toBe('');
  const found = stdout.split('\n').filter((line) => line.startsWith(path));
  for (const line of found) expect(line).toMatch(/:\d+: "[^"]+": \S.*$/);
  return { status, found: found.map((line) => /:(\d+: "[^"]+"):/.exec(line)![1]) };
}

test('finds phrases in Markdown, across lines and in tables, but not in code', () => {
  const lines = [
    '# While Redis is away',
    '',
    'Clients stay connected while the archive is',
    'away. Who gives no name is a guest. Who is it? A client',
    'that knows who was there is fine.',
    '',
    '| `anew` | it connects anew |',
    '- Nobody answers.',
    '',
    '```',
    'whoever',
    '```',
    '',
    '    somebody',
    '',
    'The reload is done `under way`.',
  ];
  expect(lint('page.md', lines)).toEqual({
    status: 1,
    found: ['1: "is away"', '3: "is away"', '4: "Who gives"', '7: "anew"', '8: "Nobody"'],
  });
});

test('finds phrases in comments and string literals of TypeScript, but not in names', () => {
  const lines = [
    "import { nobody } from './somebody.js';",
    '/**',
    ' * A stop is under',
    ' * way.',
    ' */',
    'const nobodyElse = nobody / 2; // Calls whoever',
    '// waits, for',
    '// good.',
    "const text = 'It is ' +",
    "  'dear.';",
    `const nested = \`\${list.map((one) => \`\${one} connects anew\`).join('nobody')} and goes on\`;`,
    'const pattern = /"somebody is here/;',
    "const last = 'after a pattern, everybody';",
  ];
  expect(lint('code.ts', lines)).toEqual({
    status: 1,
    found: ['3: "under way"', '6: "whoever"', '7: "for good"', '10: "dear"', '11: "anew"', '13: "everybody"'],
  });
});

test('finds phrases in JSON descriptions and in the text of HTML', () => {
  expect(
    lint('api.json', ['{ "summary": "Asks whoever", "name": "is away",', '"description": "Is \\"away\\" anew" }']),
  ).toEqual({
    status: 1,
    found: ['1: "whoever"', '2: "anew"'],
  });
  expect(
    lint('page.html', ['<p class="is away">Nobody', 'is away</p>', '<input placeholder="All the same" />']),
  ).toEqual({
    status: 1,
    found: ['1: "Nobody"', '2: "is away"', '3: "All the same"'],
  });
});

test('passes plain English, and the files of the project', () => {
  const sentence = 'A client that sends no name joins as a guest while Redis is unreachable.';
  expect(lint('page.md', [sentence, '', 'Who may connect? Clients.'])).toEqual({ status: 0, found: [] });
  expect(lint('code.ts', [`// ${sentence}`])).toEqual({ status: 0, found: [] });
  const { status, stdout } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
});
