import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { InstalledPackage, type Outcome, root } from './support/installed.js';
import '../support/long.js';

/** A server that ends once it listens, or once a worker has asked in vain. */
const listens = `
const server = createServer();
attach(server);
server.listen(0, '127.0.0.1', () => {
  console.log('listens');
  setImmediate(() => process.exit());
});
`;

/** How each version is loaded. Version 2 exports the class itself. */
const versions = [
  {
    folder: 'socket.io-2',
    commonjs: `const attach = require('socket.io');`,
    module: `import attach from 'socket.io';`,
  },
  {
    folder: 'socket.io-4.5',
    commonjs: `const { Server } = require('socket.io'); const attach = (server) => new Server(server);`,
    module: `import { Server } from 'socket.io'; const attach = (server) => new Server(server);`,
  },
];

describe.each(versions)('$folder', ({ folder, commonjs, module }) => {
  const place = new InstalledPackage(folder);
  const write = (name: string, text: string) => writeFileSync(join(place.folder, name), text);
  const path = join(root, 'node_modules', folder);
  const { version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version: string };
  const problem =
    `socket.io ${version} in ${path} does not work with gjallar, which needs 4.6.0 or a newer 4.x. ` +
    'Run: npm install socket.io@4';
  const linesOf = ({ error }: Outcome) => error.split('\n').filter((line) => line.includes(problem));

  write('app.cjs', `const { createServer } = require('node:http'); ${commonjs} ${listens}`);
  write('app.mjs', `import { createServer } from 'node:http'; ${module} ${listens}`);
  write('loads.cjs', `${commonjs} console.log('loaded');`);
  write('imports.mjs', `import { Server } from 'gjallar'; console.log(Server);`);

  test.each(['app.cjs', 'app.mjs'])('register: %s runs on stock, and one line says why', async (file) => {
    const outcome = await place.run(['--import', 'gjallar/register', file]);
    expect(outcome).toMatchObject({ code: 0, out: 'listens\n' });
    expect(linesOf(outcome)).toEqual([expect.stringContaining('GjallarWarning')]);
  });

  test('register: an application that only loads it is left alone', async () => {
    const outcome = await place.run(['--import', 'gjallar/register', 'loads.cjs']);
    expect(outcome).toEqual({ code: 0, out: 'loaded\n', error: '' });
  });

  test.each(['app.cjs', 'app.mjs'])('gjallar run %s ends, and one line says why', async (file) => {
    const outcome = await place.run([place.main, 'run', file, '--workers', '2']);
    expect(outcome).toMatchObject({ code: 1, error: `gjallar: ${problem}\n` });
    expect(outcome.out).not.toContain('with 2 workers');
  });

  test('an import of gjallar fails with the same words', async () => {
    const outcome = await place.run(['imports.mjs']);
    expect(outcome).toMatchObject({ code: 1, out: '' });
    expect(linesOf(outcome)).toEqual([`GjallarError: ${problem}`]);
  });

  test('so does the chat service, in one line', async () => {
    expect(await place.run([place.main], { PORT: '0' })).toEqual({
      code: 1,
      out: '',
      error: `gjallar: ${problem}\n`,
    });
  });
});
