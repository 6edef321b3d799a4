import { beforeAll, expect, test } from '@jest/globals';
import { io } from 'socket.io-client';
import { violations } from '../support/axe.js';
import type { Demo } from '../support/demo.js';
import type { Settings } from '../support/user.js';

export function readingTests(demo: Demo): void {
  beforeAll(async () => {
    const socket = io(demo.server.url, { auth: { name: 'Writer' } });
    await socket.emitWithAck('join', 'long');
    for (let number = 1; number <= 130; number += 1) {
      await socket.emitWithAck('message', { room: 'long', text: `message ${number}` });
    }
    socket.disconnect();
  });

  const join = (room: string, settings?: Settings) => demo.join(room, 'Astrid', settings);

  test('older messages come when the reader scrolls up, and what one reads stays in its place', async () => {
    const user = await join('long');
    await user.hears('message 130');
    const first = user.page.locator('#messages .text').getByText('message 81', { exact: true });
    expect((await user.heard())[0]).toBe('message 81');
    const scroller = user.page.locator('#scroller');
    await scroller.evaluate((node) => node.scrollTo(0, 100 + node.clientHeight - node.scrollHeight));
    await user.hears('message 31');
    const [top, edge] = await Promise.all([first, scroller].map(async (part) => (await part.boundingBox())!.y));
    expect(top! - edge!).toBeGreaterThan(-150);
    expect(top! - edge!).toBeLessThan(150);

    // Playwright's own click would scroll to the button first, which shows them as well.
    const button = user.page.getByRole('button', { name: 'Show earlier messages' });
    await button.evaluate((element: HTMLElement) => element.click());
    await user.sees('#older-end', 'This is the first message.');
    expect(await user.heard()).toEqual(Array.from({ length: 130 }, (_, index) => `message ${index + 1}`));
  });

  test('the name of a day stands between two lines', async () => {
    const user = await join('long');
    await user.hears('message 130');
    const day = user.page.locator('.day').first();
    for (const side of ['::before', '::after']) {
      const width = await day.evaluate((node, pseudo) => getComputedStyle(node, pseudo).width, side);
      expect(Number.parseFloat(width)).toBeGreaterThan(100);
    }
  });

  test('a reader at the bottom follows a room with traffic, and one who scrolls up does not', async () => {
    const user = await join('busy');
    const { page } = user;
    const socket = io(demo.server.url, { auth: { name: 'Writer' } });
    await socket.emitWithAck('join', 'busy');
    const line = 'several words, so that a message takes more than one line on the page. '.repeat(4);
    const say = async (from: number, to: number) => {
      // Several in flight, so that messages arrive between two frames of the page.
      for (let number = from; number <= to; number += 4) {
        const four = [0, 1, 2, 3].map((more) => `${number + more} ${line}`);
        await Promise.all(four.map((text) => socket.emitWithAck('message', { room: 'busy', text })));
      }
    };
    const below = () => page.locator('#scroller').evaluate((node) => -node.scrollTop);
    await say(1, 40);
    await page.locator('#messages .text', { hasText: /^40 / }).waitFor();
    // A scroll event may come after the next message is in the list.
    await page.evaluate(() => {
      const filler = document.querySelector('#messages')!.appendChild(document.createElement('li'));
      filler.style.height = '400px';
      document.querySelector('#scroller')!.dispatchEvent(new Event('scroll'));
    });
    await say(41, 80);
    await page.locator('#messages .text', { hasText: /^80 / }).waitFor();
    expect(await below()).toBeLessThan(2);
    expect(await page.locator('#jump').isHidden()).toBe(true);

    await page.locator('#scroller').evaluate((node) => {
      const scrolled = new Promise((resolve) => node.addEventListener('scroll', resolve, { once: true }));
      node.scrollBy(0, -300);
      return scrolled.then(() => undefined);
    });
    await say(81, 100);
    await user.sees('#jump', '20 new messages');
    expect(await below()).toBeGreaterThan(300);
    socket.disconnect();
  });

  test('addresses become links that lead out safely, and nothing else does', async () => {
    const user = await join('links');
    const text =
      'See https://example.com/a_(b). Not javascript:alert(1), nor data:text/html,x <https://b.example/?q="x>';
    await user.types(text);
    await user.hears(text);
    const links = await user.page
      .locator('#messages .text a')
      .evaluateAll((nodes) =>
        nodes.map((node) => ({ href: node.getAttribute('href'), rel: (node as HTMLAnchorElement).rel })),
      );
    const rel = 'noopener noreferrer nofollow';
    expect(links).toEqual([
      { href: 'https://example.com/a_(b)', rel },
      { href: 'https://b.example/?q=', rel },
    ]);
  });

  test('a message that is too long comes back for editing', async () => {
    const user = await join('length');
    await user.types('x'.repeat(10_012));
    await user.sees('#outbox .item-status', '1 to 10,000 characters');
    await user.page.getByRole('button', { name: 'Edit' }).click();
    const draft = user.page.locator('#draft');
    expect((await draft.inputValue()).length).toBe(10_012);
    await user.types('short');
    await user.hears('short');
    expect(await user.heard()).toEqual(['short']);
  });

  test.each([
    ['wide', { viewport: { width: 1280, height: 800 } }],
    ['wide and dark', { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }],
    ['narrow', { viewport: { width: 390, height: 760 } }],
    ['low', { viewport: { width: 320, height: 256 } }],
  ] as const)('axe finds nothing on a %s page, with messages, people and dialog', async (view, options) => {
    const user = await join(view.replaceAll(' ', '-'), options);
    await user.types('Look at https://example.com/');
    await user.hears('Look at https://example.com/');
    expect(await violations(user.page)).toEqual([]);
    // Room for messages, and the labels of the status line.
    expect((await user.page.locator('#scroller').boundingBox())!.height).toBeGreaterThan(120);
    const labels = await user.page.locator('.wire dt').evaluateAll((nodes) => nodes.map((node) => node.clientHeight));
    expect(Math.min(...labels)).toBeGreaterThan(8);
    if (options.viewport.width < 760) {
      await user.page.locator('#people-toggle').click();
      await user.page.locator('#people.open').waitFor();
      expect(await violations(user.page)).toEqual([]);
      await user.page.locator('#people-toggle').click();
    }
    await user.page.getByRole('button', { name: 'Change room' }).click();
    expect(await violations(user.page)).toEqual([]);
  });

  test.each(['light', 'dark'] as const)('forced colours (%s) keep the wordmark and the state', async (colorScheme) => {
    const user = await join('forced', { forcedColors: 'active', colorScheme });
    const colours = await user.page.evaluate(() => {
      const style = (selector: string, pseudo?: string) =>
        getComputedStyle(document.querySelector(selector) as Element, pseudo);
      return {
        text: style('h1').color,
        word: style('.brand-word').stroke,
        state: style('#state', '::before').borderTopColor,
      };
    });
    expect(colours).toEqual({ text: colours.text, word: colours.text, state: colours.text });
  });
}
