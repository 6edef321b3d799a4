import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { applicationWith } from '../io/server/support/package.js';
import { own } from '../support/children.js';
import { connect, connected } from '../support/clients.js';
import { cleanEnvironment, sharedServer } from '../support/server.js';

const read = (page: string) => readFileSync(fileURLToPath(new URL(`../../docs/${page}`, import.meta.url)), 'utf8');
const blockOf = (page: string) => /```js\n([\s\S]*?)```/.exec(read(page))![1]!;

const server = sharedServer({ WORKERS: '1' });

/** Runs a program of the guide against the server until it prints a line. */
async function firstLineOf(code: string): Promise<string> {
  const application = applicationWith({ 'client.mjs': code.replaceAll('http://localhost:3000', server.url) });
  const options = { cwd: application, env: cleanEnvironment() };
  const child = spawn(process.execPath, ['client.mjs'], { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  own(child);
  try {
    const [line] = await once(createInterface(child.stdout), 'line');
    return line as string;
  } finally {
    child.kill('SIGKILL');
  }
}

test('the first client of the quick start prints its own message', async () => {
  expect(await firstLineOf(blockOf('guide/quick-start.md'))).toBe('hall Astrid Hello!');
});

test('the recovery helper delivers what was said before', async () => {
  const astrid = connect(server.url, { auth: { name: 'Astrid' } });
  await connected(astrid);
  await astrid.emitWithAck('join', 'hall');
  await astrid.emitWithAck('message', { room: 'hall', text: 'Hello!' });
  expect(await firstLineOf(blockOf('guide/recovery.md'))).toBe('Astrid Hello!');
});
