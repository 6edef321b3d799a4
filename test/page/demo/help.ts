import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { root } from '../../io/server/support/package.js';
import { violations } from '../support/axe.js';
import type { Demo } from '../support/demo.js';

/** What a program of Node.js prints that ends by itself. */
async function printed(program: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return text(child.stdout);
}

/** Does what a command line of curl does. */
function requested(command: string, key: string): Promise<Response> {
  const [, method, url] = command.match(/^curl -X (\S+) (\S+)/)!;
  const [name, value] = command
    .match(/-H "(.+?)"/)![1]!
    .replace('$API_KEY', key)
    .split(': ');
  return fetch(url!, { method, headers: { [name!]: value! }, body: command.match(/-d '(.+)'/)![1]! });
}

export function helpTests(demo: Demo, key: string): void {
  test.each([1280, 390])(
    'the chat leads to the page about own clients, which fits %i pixels, and whose examples work',
    async (width) => {
      const user = await demo.joinAt(demo.server.url, 'Astrid', { viewport: { width, height: 800 } });
      if (width < 1000) await user.page.locator('#people-toggle').click();
      await user.page.getByRole('link', { name: 'Connect your own client' }).click();
      await user.page.getByRole('heading', { name: 'Connect your own client' }).waitFor();
      expect(await violations(user.page)).toEqual([]);
      expect(await user.page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);

      const blocks = await user.page.locator('pre').allTextContents();
      const [socketIo, , curl] = blocks;
      const heard = "const heard = new Promise((resolve) => socket.on('message', resolve));\n";
      const program = socketIo!.replace("await socket.emitWithAck('message'", `${heard}$&`);
      expect(await printed(`${program}\nawait heard;\nsocket.close();`)).toBe('Ada Hello!\n');
      expect(await (await requested(curl!, key)).json()).toMatchObject({ ok: true });

      await user.page.getByRole('link', { name: 'description of the HTTP API' }).click();
      expect(await user.page.textContent('body')).toContain('"openapi"');
    },
  );

  test('addresses without a page say where to go, and answer programs in JSON', async () => {
    const { url } = demo.server;
    for (const path of ['/admin', '/admin/', '/no/such/page']) {
      const user = await demo.visit(url);
      user.serverAway = true;
      await user.page.goto(`${url}${path}`);
      await user.sees('main', /page for operators.*http:\/\/127\.0\.0\.1:ADMIN_PORT\/admin/s);
      expect(await violations(user.page)).toEqual([]);
      await user.page.getByRole('link', { name: 'the chat' }).click();
      await user.page.getByLabel('Your name').waitFor();
      const answer = await fetch(`${url}${path}`);
      expect([answer.status, await answer.json()]).toMatchObject([404, { ok: false, code: 'NOT_FOUND' }]);
    }
    const user = await demo.visit(`${url}/live`);
    await user.page.getByRole('heading', { level: 1, name: 'Live data and a slow client' }).waitFor();
    await user.page.goto(url);
    await user.entersAs('Astrid');
    await user.page.getByRole('link', { name: 'Documentation' }).click();
    await user.page.getByRole('heading', { name: 'Documentation' }).waitFor();
  });

  test('its plain WebSocket works in a browser', async () => {
    const user = await demo.visit(`${demo.server.url}/help.html`);
    const block = (await user.page.locator('pre').nth(1).textContent())!;
    const said = user.page.waitForEvent('console', (message) => message.text() === 'Hello!');
    await user.page.evaluate(block);
    await said;
  });

  test('a plain WebSocket of a page hears what it says', async () => {
    const user = await demo.visit(demo.server.url);
    const heard = await user.page.evaluate(
      (url) =>
        new Promise((resolve) => {
          const socket = new WebSocket(url);
          socket.onopen = () => socket.send('from a page');
          socket.onmessage = ({ data }) => resolve(data);
        }),
      `${demo.server.url.replace('http', 'ws')}/browsers`,
    );
    expect(heard).toBe('from a page');
  });
}
