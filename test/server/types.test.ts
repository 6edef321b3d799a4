import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { applicationWith, root } from './support/package.js';

const consumer = `
import { createServer } from 'node:http';
import { App, createAdapter, Engine, Server, type ServerOptions, Socket } from 'gjallar';

interface ToServer { say: (text: string, done: (length: number) => void) => void }
interface ToClient { said: (text: string) => void }
interface Between { ping: () => void }
interface Data { name: string }

const http = createServer();
const options: Partial<ServerOptions> = { cors: { origin: '*' } };
const io = new Server<ToServer, ToClient, Between, Data>(http, { ...options, rateLimit: {}, pingInterval: 1000 });
io.on('connection', (socket: Socket<ToServer, ToClient, Between, Data>) => {
  socket.data.name = 'ada';
  socket.on('say', (text, done) => done(text.length));
  io.to('room').emit('said', 'hello');
  // @ts-expect-error: no such event
  socket.emit('sad', 'hello');
});
io.of('/admin').use((socket, next) => next());
new Server(3000);
new Server(App());
new Server({ adapter: createAdapter(new Engine()) as never });
http.listen(3000);
`;

const application = applicationWith({
  'consumer.ts': consumer,
  'consumer.mts': consumer,
  'consumer.cts': consumer,
});

afterAll(() => application.remove());

test.each([
  ['commonjs', 'bundler', 'consumer.ts'],
  ['esnext', 'bundler', 'consumer.ts'],
  ['nodenext', 'nodenext', 'consumer.mts'],
  ['nodenext', 'nodenext', 'consumer.cts'],
])('TypeScript with module %s and moduleResolution %s takes %s', async (module, moduleResolution, file) => {
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--types', 'node'];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--ignoreConfig', ...options, '--module', module, '--moduleResolution', moduleResolution, file];
  const run = promisify(execFile)(process.execPath, args, { cwd: application.folder });
  await expect(run.catch(({ stdout }: { stdout: string }) => ({ stdout }))).resolves.toMatchObject({ stdout: '' });
});
