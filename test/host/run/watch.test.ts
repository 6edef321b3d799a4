import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import { SourceWatch } from '../../../src/cli/watch.js';
import { nextEvent } from '../../support/clients.js';
import { temporaryFolder } from '../../support/folder.js';
import { runToEnd } from '../../support/server.js';
import { runApp, stopAll } from './support/application.js';
import { leaveAll, Member } from './support/members.js';

/** Below the repository, where the application finds socket.io. */
const folder = mkdtempSync(fileURLToPath(new URL('../../../node_modules/.watch-', import.meta.url)));
afterAll(async () => {
  leaveAll();
  await stopAll();
  rmSync(folder, { recursive: true });
});

/** What an application says to a client that connects. */
async function greetingOf(url: string): Promise<unknown> {
  const { socket } = new Member(url, 'Ada', { reconnection: false });
  const [text] = await nextEvent(socket, 'greeting');
  socket.disconnect();
  return text;
}

test('with --watch, a saved change is served, and one that cannot start leaves what runs', async () => {
  const file = join(folder, 'server.mjs');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const save = (text: string) => writeFileSync(file, application(text));
  save(`'one'`);
  const app = await runApp(file, {
    args: ['--watch'],
    env: { WORKERS: undefined as never, RELOAD_SETTLE: undefined as never },
  });
  expect(app.log.at(-1)).toMatchObject({ workers: 1, msg: expect.stringContaining('listens on port') });
  expect(await greetingOf(app.url)).toBe('one');

  const broken = app.logged(({ code }) => code === 'RELOAD_ABORTED');
  save('(');
  await broken;
  expect(await greetingOf(app.url)).toBe('one');

  const finished = app.logged(({ msg }) => msg === 'reload finished');
  save(`'two'`);
  await finished;
  expect(await greetingOf(app.url)).toBe('two');

  // Neither of these would end by itself soon.
  const from = app.log.length;
  for (const [name, text] of Object.entries({ waits: 'setInterval(() => {}, 1000);', hangs: 'for (;;);' })) {
    writeFileSync(file, `console.log('${name}'); ${text}`);
    await app.said(new RegExp(name));
  }
  save(`'three'`);
  await app.logged(({ msg }) => msg === 'reload finished', from);
  expect(await greetingOf(app.url)).toBe('three');
  expect(app.log.slice(from).filter(({ level }) => level !== 'info')).toEqual([]);
});

const application = (text: string) => `import { createServer } from 'node:http';
import { Server } from 'socket.io';
const server = createServer();
new Server(server).on('connection', (socket) => socket.emit('greeting', ${text}));
server.listen(0);
`;

test('the sources of new folders are watched, those of packages are not', async () => {
  const root = mkdtempSync(join(tmpdir(), 'watch-'));
  mkdirSync(join(root, 'node_modules/other'), { recursive: true });
  let tell = (_file: string) => {};
  const next = () => new Promise<string>((resolve) => (tell = resolve));
  const sources = new SourceWatch(root, (file) => tell(file));
  try {
    mkdirSync(join(root, 'lib'));
    // The system reports the folder before it can be watched.
    const made = next();
    writeFileSync(join(root, 'first.js'), '');
    await made;
    writeFileSync(join(root, 'node_modules/other/index.js'), '');
    // An application may write its data.
    writeFileSync(join(root, 'data.json'), '');
    const changed = next();
    writeFileSync(join(root, 'lib/rooms.ts'), '');
    expect(await changed).toBe(join(root, 'lib/rooms.ts'));
    expect(sources.isPartial).toBe(false);
  } finally {
    sources.close();
    rmSync(root, { recursive: true });
  }
});

test('folders that cannot be watched are passed over, and the first of them is told', async () => {
  const root = mkdtempSync(join(tmpdir(), 'watch-'));
  // Root may read any folder.
  const isRoot = process.getuid!() === 0;
  const missed: unknown[] = [];
  let tell = (_file: string) => {};
  try {
    chmodSync(root, 0o755);
    for (const name of ['closed', 'closed-too', 'lib']) mkdirSync(join(root, name));
    for (const name of ['closed', 'closed-too']) chmodSync(join(root, name), 0);
    if (isRoot) process.seteuid!(65_534);
    const sources = new SourceWatch(
      root,
      (file) => tell(file),
      (folder, { code }: NodeJS.ErrnoException) => missed.push([folder, code]),
    );
    if (isRoot) process.seteuid!(0);
    expect(missed).toEqual([[join(root, 'closed'), 'EACCES']]);
    const changed = new Promise<string>((resolve) => (tell = resolve));
    // The system cannot say what this is.
    symlinkSync('loop', join(root, 'loop'));
    writeFileSync(join(root, 'lib/rooms.ts'), '');
    expect(await changed).toBe(join(root, 'lib/rooms.ts'));
    sources.close();
    new SourceWatch(join(root, 'gone'), tell, () => missed.push('gone')).close();
    expect(missed).toHaveLength(1);
  } finally {
    if (isRoot) process.seteuid!(0);
    rmSync(root, { recursive: true });
  }
});

test('a port that another program uses is one line', async () => {
  const other = createServer().listen(0);
  const { port } = other.address() as { port: number };
  cpSync(fileURLToPath(new URL('./apps/chat.mjs', import.meta.url)), join(folder, 'chat.mjs'));
  const { code, stderr } = await runToEnd(['run', join(folder, 'chat.mjs')], { WORKERS: '2', APP_PORT: String(port) });
  other.close();
  expect(code).toBe(1);
  expect(stderr).toBe(
    `gjallar: the application cannot listen on port ${port}: another program uses it (EADDRINUSE); stop that program, or ` +
      'let the application use another port\n',
  );
});

test('with tsx installed, any TypeScript runs, and a change is served', async () => {
  const file = join(folder, 'tsx.ts');
  // Node.js itself removes types only.
  const save = (text: string) => writeFileSync(file, `enum Text { Value = '${text}' }\n${application('Text.Value')}`);
  save('one');
  const app = await runApp(file, { args: ['--watch'], env: { RELOAD_SETTLE: undefined as never } });
  expect(await greetingOf(app.url)).toBe('one');
  const finished = app.logged(({ msg }) => msg === 'reload finished');
  save('two');
  await finished;
  expect(await greetingOf(app.url)).toBe('two');
});

test('tsx runs beside flags of Node.js that load nothing', async () => {
  const [file, envFile] = [join(folder, 'flags.ts'), join(folder, 'flags.env')];
  writeFileSync(envFile, 'GREETING=from the file');
  writeFileSync(file, `enum Name { Of = 'GREETING' }\n${application('process.env[Name.Of]')}`);
  const app = await runApp(file, { args: ['--env-file', envFile, '-C', 'development'] });
  expect(await greetingOf(app.url)).toBe('from the file');
});

test('TypeScript without tsx needs a Node.js that knows it', async () => {
  const alone = temporaryFolder();
  mkdirSync(join(alone, 'node_modules'));
  symlinkSync(
    fileURLToPath(new URL('../../../node_modules/socket.io', import.meta.url)),
    join(alone, 'node_modules/socket.io'),
  );
  const file = join(alone, 'server.ts');
  writeFileSync(file, `const text: string = 'typed';\n${application('text')}`);
  if ((process.features as { typescript?: unknown }).typescript) {
    const app = await runApp(file);
    const { socket } = new Member(app.url, 'Ada');
    expect(await nextEvent(socket, 'greeting')).toEqual(['typed']);
    return;
  }
  const { code, stderr } = await runToEnd(['run', file]);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('which is TypeScript; npm install --save-dev tsx, use Node.js 24'),
  ]);
});
