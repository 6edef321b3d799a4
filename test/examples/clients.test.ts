import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { launchBrowser } from '../support/browser.js';
import { connect, disconnectAll, expectOk, nextEvent } from '../support/clients.js';
import { atEnd } from '../support/ends.js';
import { freePort } from '../support/ports.js';
import { type RunningServer, startServer } from '../support/server.js';
import { Example, scriptOf } from './support/example.js';

/** Debian's, which has Debian's packages. */
const PYTHON = '/usr/bin/python3';

describe('examples of clients', () => {
  let server: RunningServer;
  let pagePort: number;

  beforeAll(async () => {
    pagePort = await freePort();
    server = await startServer({ WORKERS: '1', DEMO_PAGE: 'off', CORS_ORIGIN: `http://localhost:${pagePort}` });
  });
  afterAll(async () => {
    disconnectAll();
    await server.stop();
  });

  test('plain-websocket: two clients in a room, and a server that rejects', async () => {
    const example = new Example('plain-websocket');
    atEnd(() => example.close());
    const words = scriptOf('plain-websocket', 'start');
    const url = `${server.url.replace('http', 'ws')}/plain`;
    const first = example.spawn([...words, url, 'first']);
    await first.printed('first');
    example.spawn([...words, url, 'second']);
    await first.printed('second');
    const rejected = example.spawn([...words, `${url}?name=%00`]);
    expect(await once(rejected.child, 'exit')).toEqual([1, null]);
  });

  test('python-client: speaks and hears', async () => {
    const example = new Example('python-client');
    atEnd(() => example.close());
    const socket = connect(server.url, { auth: { name: 'Writer' } });
    expectOk(await socket.emitWithAck('join', 'python'));
    const heard = nextEvent<[object]>(socket, 'message');
    const python = example.spawn([PYTHON, 'client.py', server.url, 'python', 'Hello from here!']);
    expect((await heard)[0]).toMatchObject({ from: 'Python', text: 'Hello from here!' });
    await python.printed('Python: Hello from here!');
    expectOk(await socket.emitWithAck('message', { room: 'python', text: 'Welcome!' }));
    await python.printed('Writer: Welcome!');
  });

  test('recovery: a page on another origin misses nothing while the server restarts', async () => {
    const example = new Example('recovery');
    const browser = await launchBrowser();
    atEnd(
      () => browser.close(),
      () => example.close(),
    );
    const program = example.spawn(scriptOf('recovery', 'start'), { PORT: `${pagePort}`, CHAT_URL: server.url });
    await program.printed(`listening on ${pagePort}`);
    const page = await browser.newPage();
    await page.goto(`http://localhost:${pagePort}/`);
    await page.getByText('1 here').waitFor();
    for (const text of ['one', 'two']) {
      const writer = connect(server.url, { auth: { name: 'Writer' } });
      expectOk(await writer.emitWithAck('join', 'hall'));
      expectOk(await writer.emitWithAck('message', { room: 'hall', text }));
      await page.getByText(`Writer: ${text}`).waitFor();
      writer.disconnect();
      if (text === 'one') await server.restart();
    }
    expect(await page.locator('#messages li').allTextContents()).toEqual(['Writer: one', 'Writer: two']);
  });
});
