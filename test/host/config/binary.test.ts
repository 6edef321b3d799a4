import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { readinessOf } from '../../support/reports.js';
import '../../support/long.js';
import { atEnd } from '../../support/ends.js';
import { temporaryFolder } from '../../support/folder.js';
import { cleanEnvironment } from '../../support/server.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { platform, arch, versions } = process;
const [major] = versions.node.split('.');
const binaryPackage = `@uwsjs/${platform}-${arch}-${major}`;
const binary = join(root, 'node_modules', binaryPackage, 'uws.node');
const hasBinary = existsSync(binary);

/** A copy of the build beside packages of its own choice, as in another application. */
const folder = temporaryFolder();
const modules = join(folder, 'node_modules');
mkdirSync(modules, { recursive: true });
for (const name of readdirSync(join(root, 'node_modules'))) {
  if (name !== '@uwsjs' && name !== 'uWebSockets.js')
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
}
for (const name of ['build', 'dist', 'docs', 'public', 'package.json'])
  cpSync(join(root, name), join(folder, name), { recursive: true });
writeFileSync(
  join(folder, 'facts.mjs'),
  "console.log(JSON.stringify((await import('./build/engine/uws/uws.js')).socketsInUse));",
);
writeFileSync(
  join(folder, 'library.mjs'),
  `import { createServer } from 'node:http';
import { Server } from 'gjallar';
const server = createServer();
new Server(server);
setImmediate(() => process.exit());`,
);
writeFileSync(
  join(folder, 'plain.cjs'),
  "new (require('socket.io').Server)(require('node:http').createServer()); setImmediate(() => process.exit());",
);

afterEach(() => {
  for (const name of ['uWebSockets.js', 'uws-pack', '@uwsjs'])
    rmSync(join(modules, name), { recursive: true, force: true });
});

function run(args: string[], variables: Record<string, string> = {}) {
  const env = { ...cleanEnvironment(), ...variables };
  return spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8', timeout: 60_000 });
}

const facts = (variables?: Record<string, string>) => JSON.parse(run(['facts.mjs'], variables).stdout);

/** Puts a file of a package into the application. */
function install(path: string, content?: string | Buffer): void {
  const file = join(modules, path);
  mkdirSync(dirname(file), { recursive: true });
  if (content === undefined) cpSync(binary, file);
  else writeFileSync(file, content);
}

const itsBinary = `uws_${platform}_${arch}_${versions.modules}.node`;
const withBinary = hasBinary ? test : test.skip;

describe('native sockets', () => {
  withBinary.each([
    ['the application’s own package, as its authors publish it', `uWebSockets.js/${itsBinary}`, 'uWebSockets.js'],
    ['the application’s own package, with npm’s layout', `uWebSockets.js/dist/bin/${itsBinary}`, 'uWebSockets.js'],
    ['the package uws-pack', `uws-pack/dist/bin/${itsBinary}`, 'uws-pack'],
  ])('come from %s', (_, path, source) => {
    install(path);
    expect(facts()).toEqual({ kind: 'native', source: join(modules, source) });
  });

  withBinary('come from the package for this platform and Node', () => {
    install(`${binaryPackage}/uws.node`);
    install(`${binaryPackage}/index.js`, "module.exports = require('./uws.node');");
    expect(facts()).toEqual({ kind: 'native', source: binaryPackage });
    expect(facts({ GJALLAR_SOCKETS: 'native' })).toMatchObject({ kind: 'native' });
  });

  withBinary('come from the next source if one does not load', () => {
    install(`uWebSockets.js/${itsBinary}`, 'this is no library');
    install(`uws-pack/dist/bin/${itsBinary}`);
    expect(facts()).toEqual({ kind: 'native', source: join(modules, 'uws-pack') });
  });

  withBinary('are not used if the application chooses portable ones', () => {
    install(`uWebSockets.js/${itsBinary}`);
    expect(facts({ GJALLAR_SOCKETS: 'portable' })).toMatchObject({
      kind: 'portable',
      reason: 'GJALLAR_SOCKETS is portable',
    });
  });
});

/** Bun and Deno imitate Node.js, and add their own version to those of it. An old Node.js has only another one. */
const runtime = (name: string, version: string) => [
  '--import',
  `data:text/javascript,Object.defineProperty(process.versions,'${name}',{value:'${version}',enumerable:true})`,
];

describe('on another runtime', () => {
  test.each([
    [
      'bun',
      /^gjallar: gjallar does not run on Bun 1\.2\.3, because .*\. Run the application with Node\.js\. .*\n$/,
      '1.2.3',
    ],
    [
      'deno',
      /^gjallar: the program gjallar does not run on Deno 1\.2\.3, because .*\. Run it with Node\.js, .*\n$/,
      '1.2.3',
    ],
    ['node', /^gjallar: gjallar does not run on Node\.js 18\.20\.8\. Use Node\.js 20, 22, 24 or 26\.\n$/, '18.20.8'],
  ])('%s, the program ends with one line', (name, line, version) => {
    const { status, stderr, stdout } = run([...runtime(name, version), 'dist/main.js', 'run', 'library.mjs']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(line);
  });

  test.each([
    ['bun', '1.2.3', /gjallar does not run on Bun 1\.2\.3/],
    ['node', '18.20.8', /gjallar does not run on Node\.js 18\.20\.8\. Use/],
  ])('%s %s, the library does not start', (name, version, words) => {
    const { status, stderr } = run([...runtime(name, version), 'library.mjs']);
    expect(status).toBe(1);
    expect(stderr).toMatch(words);
  });

  withBinary('deno, the library uses portable sockets, also where a binary is installed', () => {
    install(`${binaryPackage}/uws.node`);
    install(`${binaryPackage}/index.js`, "module.exports = require('./uws.node');");
    const { status, stderr } = run([...runtime('deno', '1.2.3'), 'library.mjs']);
    expect(status).toBe(0);
    expect(stderr).toMatch(/\[PORTABLE_SOCKETS\].*Deno 1\.2\.3 cannot load uWebSockets\.js.*Node\.js/);
  });
});

describe('without a binary', () => {
  test('the sockets are portable, and one command would bring native ones', () => {
    const { kind, reason, remedy } = facts();
    expect({ kind, reason }).toEqual({ kind: 'portable', reason: 'no binary of uWebSockets.js is installed' });
    expect(remedy).toMatch(
      new RegExp(`^run: npm install ${binaryPackage}@20\\.\\d+\\.\\d+; docs/guide/node-versions\\.md `),
    );
  });

  test('a binary that does not load is named, with the reason', () => {
    install(`uWebSockets.js/${itsBinary}`, 'this is no library');
    expect(facts().reason).toMatch(/uWebSockets\.js does not load: .+/);
  });

  test.each([
    ['uWebSockets.js/index.js', 'uWebSockets.js'],
    [`${binaryPackage}/index.js`, binaryPackage],
  ])('a package without the sockets in %s is named', (file, name) => {
    install(file, 'exports.App = () => ({})');
    const { kind, reason } = facts();
    expect(kind).toBe('portable');
    expect(reason).toMatch(new RegExp(`${name} does not export SSLApp\\(\\)$`));
  });

  test('a start that asks for native sockets ends with one line', () => {
    const { status, stderr, stdout } = run(['dist/main.js'], { GJALLAR_SOCKETS: 'native' });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^gjallar: GJALLAR_SOCKETS is native, but no binary of .* is installed\. To mend that, run: .*\n$/,
    );
  });

  test('the library warns once', () => {
    const { status, stderr } = run(['library.mjs']);
    expect(status).toBe(0);
    expect(stderr.match(/\[PORTABLE_SOCKETS\]/g)).toHaveLength(1);
  });

  test('the service says so in its log, and in /readyz', async () => {
    const data = temporaryFolder();
    const env = { ...cleanEnvironment(), PORT: '0', HOST: '127.0.0.1', WORKERS: '1', DATA_DIR: data };
    const child = spawn(process.execPath, ['dist/main.js'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    atEnd(
      () => child.kill('SIGTERM'),
      () => ended,
    );
    const lines = new Map<string, { level: string; msg: string; url?: string }>();
    for await (const text of createInterface(child.stdout)) {
      const line = JSON.parse(text);
      lines.set(line.msg.slice(0, 11), line);
      if (lines.has('gjallar lis')) break;
    }
    expect(lines.get('the sockets')).toMatchObject({
      level: 'warn',
      msg: expect.stringMatching(/^the sockets are portable.*npm install/),
    });
    const response = await fetch(`${lines.get('gjallar lis')!.url}/readyz`);
    const { ok, warnings } = readinessOf(await response.json());
    expect({ ok, warnings }).toEqual({ ok: true, warnings: [expect.stringMatching(/^the sockets are portable/)] });
  });
});

test('an unknown value of GJALLAR_SOCKETS ends the start with one line', () => {
  const { status, stderr } = run(['dist/main.js'], { GJALLAR_SOCKETS: 'raw' });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'gjallar: GJALLAR_SOCKETS must be native or portable, not "raw"\n',
  });
});

describe('the size of request heads', () => {
  const reject = (value: string) => `UWS_HTTP_MAX_HEADERS_SIZE must be an integer from 1024 to 1048576, not "${value}"`;

  test.each([
    ['the service', ['dist/main.js']],
    ['gjallar run', ['dist/main.js', 'run', 'library.mjs']],
    ['gjallar doctor', ['dist/main.js', 'doctor']],
  ])('is checked before the start of %s', (_, args) => {
    const { status, stderr, stdout } = run(args, { UWS_HTTP_MAX_HEADERS_SIZE: '32k' });
    expect({ status, stderr, stdout }).toEqual({ status: 1, stderr: `gjallar: ${reject('32k')}\n`, stdout: '' });
  });

  test.each(['abc', '1023', '1048577', ' '])('cannot be %j in the library', (value) => {
    const { status, stderr } = run(['library.mjs'], { UWS_HTTP_MAX_HEADERS_SIZE: value });
    expect(status).toBe(1);
    expect(stderr).toContain(`GjallarError: ${reject(value)}\n`);
  });

  test('can be 1024', () => {
    expect(run(['library.mjs'], { UWS_HTTP_MAX_HEADERS_SIZE: '1024' })).toMatchObject({ status: 0 });
  });
});

describe('the owner of the port', () => {
  const line = (value: string) => `GJALLAR_PORT_OWNER must be auto or node, not "${value}"`;

  test.each([
    ['gjallar run, before a worker starts', ['dist/main.js', 'run', 'library.mjs'], 'gjallar'],
    ['the library', ['library.mjs'], 'GjallarError'],
    ['gjallar/register', ['--import', './dist/io/server/register.js', 'plain.cjs'], 'GjallarError'],
  ])('is checked by %s', (_, args, from) => {
    const { status, stderr } = run(args, { GJALLAR_PORT_OWNER: 'Node' });
    expect(status).toBe(1);
    expect(stderr).toContain(`${from}: ${line('Node')}\n`);
  });
});

test('the commands for other systems are on the page about Node versions', () => {
  const page = readFileSync(join(root, 'docs/guide/node-versions.md'), 'utf8');
  for (const version of ['20.51.4', '20.69.0']) expect(page).toContain(`@${version}`);
});
