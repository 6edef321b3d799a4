import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { io } from 'socket.io-client';
import { launchBrowser } from '../support/browser.js';
import { leave } from '../support/clients.js';
import { atEnd } from '../support/ends.js';
import { Lines } from '../support/lines.js';
import { Example } from './support/example.js';

/** A model that writes what the test lets it. */
class Model {
  readonly answers = new Lines<ServerResponse>();
  private readonly server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    this.answers.add(response);
  });

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

function write(answer: ServerResponse, ...tokens: string[]): void {
  for (const content of tokens) answer.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
}

test('an answer goes on after a reload and in two tabs, is cancelled from any, and belongs to its reader', async () => {
  const model = new Model();
  const example = new Example('ai-stream');
  const browser = await launchBrowser();
  atEnd(
    () => browser.close(),
    () => example.close(),
    () => model.close(),
  );
  const url = await example.serve({ MODEL_URL: await model.listen() });
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(url);
  const ask = async (question: string) => {
    await tab.getByLabel('Question').fill(question);
    await tab.getByRole('button', { name: 'Ask' }).click();
  };
  await ask('What is a gjallar?');
  const first = await model.answers.first(() => true);
  write(first, 'The ', 'horn ');
  const shows = (page: typeof tab, text: string) =>
    page.locator('#answer', { hasText: new RegExp(`^${text}$`) }).waitFor();
  await shows(tab, 'The horn ?');

  // It is written on while nobody reads it.
  await tab.goto('about:blank');
  write(first, 'of ');
  await tab.goto(url);
  await shows(tab, 'The horn of ?');
  const other = await context.newPage();
  await other.goto(url);
  await shows(other, 'The horn of ?');
  write(first, 'Heimdall');
  for (const page of [tab, other]) await shows(page, 'The horn of Heimdall');
  first.end('data: [DONE]\n\n');
  for (const page of [tab, other]) await page.getByText('The answer is complete.').waitFor();

  // The other tab shows the next question too, and stops its answer.
  await ask('How does it sound?');
  const second = await model.answers.first((answer) => answer !== first);
  write(second, 'A loud');
  await shows(other, 'A loud');
  const closed = once(second, 'close');
  await other.getByRole('button', { name: 'Cancel' }).click();
  await closed;
  for (const page of [tab, other]) await page.getByText('The answer is cancelled.').waitFor();
  expect(await tab.locator('#answer').textContent()).toBe('A loud');

  // Another reader has no right to it.
  const room = await tab.evaluate('localStorage.room');
  const stranger = io(url, { auth: { key: 'the key of somebody else' } });
  atEnd(() => leave(stranger));
  expect(await stranger.emitWithAck('durable:join', room)).toMatchObject({ ok: false, code: 'ROOM_FORBIDDEN' });
  for (const prompt of ['', 'x'.repeat(4001), 7]) {
    expect(await stranger.emitWithAck('ask', prompt)).toMatchObject({ ok: false, code: 'BAD_INPUT' });
  }
  const replies = [];
  for (let count = 0; count < 4; count++) replies.push(await stranger.emitWithAck('ask', 'Why?'));
  expect(replies.map(({ ok, code }) => ok || code)).toEqual([true, true, true, 'TOO_MANY_ANSWERS']);
});

test.each([
  ['docs/guide/ai-streams.md', /mayJoin: (.*),\n/],
  ['examples/ai-stream/server.js', /const isOf = ([^;]*);/],
])('a reader in %s may not join the rooms of another one whose name begins with its own', (path, pattern) => {
  const [, source] = pattern.exec(readFileSync(path, 'utf8'))!;
  const isOwn = new Function(`return ${source}`)() as (reader: unknown, room: string) => boolean;
  const may = (user: string, room: string) => isOwn(path.endsWith('.md') ? { data: { user } } : user, room);
  expect(may('ada', 'answer:ada:1-2')).toBe(true);
  expect(may('ada:x', 'answer:ada:x:1-2')).toBe(true);
  for (const room of ['answer:ada:x:1-2', 'answer:adam:1-2', 'answer:ada', 'answer:'])
    expect(may('ada', room)).toBe(false);
});
