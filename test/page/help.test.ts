import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { root } from '../server/support/package.js';
import { launchBrowser } from '../support/browser.js';
import { startServer } from '../support/server.js';
import { violations } from './support/axe.js';
import { User } from './support/user.js';

const KEY = 'a-key-of-the-test';

let browser: Browser;
let server: Awaited<ReturnType<typeof startServer>>;

beforeAll(async () => {
  server = await startServer({ API_KEY: KEY });
  browser = await launchBrowser();
});

afterAll(() => server?.stop());

/** What a program of Node.js prints that ends by itself. */
async function printed(program: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return text(child.stdout);
}

/** Does what a command line of curl does. */
function requested(command: string): Promise<Response> {
  const [, method, url] = command.match(/^curl -X (\S+) (\S+)/)!;
  const [name, value] = command
    .match(/-H "(.+?)"/)![1]!
    .replace('$API_KEY', KEY)
    .split(': ');
  return fetch(`http://${url}`, { method, headers: { [name!]: value! }, body: command.match(/-d '(.+)'/)![1]! });
}

test.each([1280, 390])(
  'the chat leads to the page about own clients, which fits %i pixels, and whose examples work',
  async (width) => {
    const user = await User.join(browser, server.url, 'Astrid', { viewport: { width, height: 800 } });
    try {
      if (width < 1000) await user.page.locator('#people-toggle').click();
      await user.page.getByRole('link', { name: 'Connect your own client' }).click();
      await user.page.getByRole('heading', { name: 'Connect your own client' }).waitFor();
      expect(await violations(user.page)).toEqual([]);
      expect(await user.page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);

      const blocks = await user.page.locator('pre').allTextContents();
      const [socketIo, , curl] = blocks.map((block) => block.replaceAll('localhost:3000', new URL(server.url).host));
      const heard = "const heard = new Promise((resolve) => socket.on('message', resolve));\n";
      const program = socketIo!.replace("await socket.emitWithAck('message'", `${heard}$&`);
      expect(await printed(`${program}\nawait heard;\nsocket.close();`)).toBe('Ada Hello!\n');
      expect(await (await requested(curl!)).json()).toMatchObject({ ok: true });

      await user.page.getByRole('link', { name: 'description of the HTTP API' }).click();
      expect(await user.page.textContent('body')).toContain('"openapi"');
      expect(user.complaints).toEqual([]);
    } finally {
      await user.close();
    }
  },
);

test('its plain WebSocket works in a browser', async () => {
  const user = await User.visit(browser, `${server.url}/help.html`);
  try {
    const block = (await user.page.locator('pre').nth(1).textContent())!;
    const said = user.page.waitForEvent('console', (message) => message.text() === 'Hello!');
    const code = block.replace('localhost:3000', new URL(server.url).host);
    await user.page.evaluate(code);
    await said;
  } finally {
    await user.close();
  }
});
