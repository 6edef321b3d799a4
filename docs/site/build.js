// The documentation site: `npm run docs`, which installs its tools on first use; `npm run docs -- --serve` serves it.
//
// With `DOCS_REPOSITORY=https://github.com/…`, pages link to the repository and to their source. `npm run docs -- --check`
// opens every page in Chromium.
//
//   docs/, CHANGELOG.md, examples/*/README.md … ─┐
//   src/ ─▶ typedoc ─▶ docs/reference/library ───┤─▶ .pages/ ─▶ VitePress ─▶ dist/
//   build/ ─▶ endpoints, error codes, commands ───┘
//
// The pages keep their paths in the repository, so that one link works in both. VitePress fails on dead links.

import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandLine } from './command-line.js';
import { homePage } from './home.js';
import { llmsText } from './llms.js';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const pages = join(here, '.pages');

/** What becomes pages, besides docs/. */
const OTHERS = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'load/README.md', 'examples'];
/** Files that pages link to. VitePress serves what is in the folder `public`. */
const FILES = ['LICENSE', 'deploy/haproxy/placement.cfg', 'deploy/nginx/placement.conf'];

const run = (program, ...args) => {
  const { status } = spawnSync(program, args, { cwd: here, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};

install();
copyPages();
await generate();
run('node_modules/.bin/typedoc', '--options', 'typedoc.json');
run('node_modules/.bin/vitepress', 'build', '.');
console.log('The site is in docs/site/dist.');
if (process.argv.includes('--check')) run(process.execPath, 'check.js');
if (process.argv.includes('--serve')) run('node_modules/.bin/vitepress', 'preview', '.');

/** Installs the tools, unless they are there in the versions that the lock file names. */
function install() {
  const lock = (path) => (existsSync(join(here, path)) ? JSON.parse(readFileSync(join(here, path), 'utf8')) : {});
  const versions = ({ packages = {} }) =>
    ['vitepress', 'typedoc', 'typescript'].map((name) => packages[`node_modules/${name}`]?.version).join();
  // npm writes the second one last.
  if (versions(lock('package-lock.json')) === versions(lock('node_modules/.package-lock.json'))) return;
  console.log('Installing VitePress and TypeDoc into docs/site/node_modules, once: 150 packages, 150 MB …');
  // Unlike `npm ci`, it accepts that the lock file lacks packages of other platforms, which not every registry has.
  run('npm', 'install', '--no-save');
}

function copyPages() {
  rmSync(pages, { recursive: true, force: true });
  const own = readdirSync(join(root, 'docs'))
    .filter((name) => name !== 'site')
    .map((name) => `docs/${name}`);
  const filter = (path) =>
    !path.endsWith('/node_modules') && (/\.(md|png|svg)$/.test(path) || statSync(path).isDirectory());
  for (const path of [...own, ...OTHERS]) cpSync(join(root, path), join(pages, path), { recursive: true, filter });
  for (const path of FILES) cpSync(join(root, path), join(pages, 'public', path));
  cpSync(join(root, 'public/favicon.svg'), join(pages, 'public/logo.svg'));
  const { description, homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(join(pages, 'public/llms.txt'), llmsText(pages, description, homepage));
  writeFileSync(join(pages, 'index.md'), homePage(readFileSync(join(root, 'README.md'), 'utf8')));
}

async function generate() {
  const { errorCodes } = await import(join(root, 'build/base/errors.js'));
  const codes = Object.entries(errorCodes).map(
    ([code, { status, message }]) => `| \`${code}\` | ${status} | ${message} |`,
  );
  const { allHelpTexts } = await import(join(root, 'build/cli/help.js'));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  append('configuration', commandLine(await allHelpTexts(version)).join('\n'));
  const description = join(root, 'dist/openapi.json');
  const api = JSON.parse(readFileSync(description, 'utf8'));
  copyFileSync(description, join(pages, 'public/openapi.json'));
  const lines = [
    '',
    '## Endpoints',
    '',
    api.info.description,
    ...Object.entries(api.paths).flatMap(endpoints),
    '',
    '## All error codes',
    '',
    'Over Socket.IO they are replies, over HTTP they have the status.',
    '',
    '| code | HTTP status | message |',
    '|---|---|---|',
    ...codes,
  ];
  append('library', '\n## Types\n\n[All types](library/README.md) that these exports take and return.');
  // Vue would read tags outside blocks of code.
  append('http-api', lines.join('\n').replaceAll('<', '&lt;'));

  function shared({ $ref }) {
    return $ref && api.components.parameters[$ref.split('/').at(-1)];
  }

  function endpoints([path, methods]) {
    return Object.entries(methods).flatMap(([method, operation]) => {
      const parameters = (operation.parameters ?? []).map((one) => shared(one) ?? one);
      return [
        '',
        `### ${method.toUpperCase()} ${path.replaceAll('{', '\\{')}`,
        '',
        [operation.summary, operation.description].filter(Boolean).join('\n\n'),
        ...(parameters.length > 0 ? ['', '| parameter | in | meaning |', '|---|---|---|'] : []),
        ...parameters.map(({ name, in: place, description }) => `| \`${name}\` | ${place} | ${description ?? ''} |`),
        '',
        '| response | meaning |',
        '|---|---|',
        ...Object.entries(operation.responses).map(([status, each]) => `| ${status} | ${each.description} |`),
      ];
    });
  }
}

/** Puts text that the code makes behind a page of the reference. */
function append(name, text) {
  appendFileSync(join(pages, 'docs/reference', `${name}.md`), `${text}\n`);
}
