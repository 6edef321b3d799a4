import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.js';
import { startServer } from '../support/server.js';
import { until } from '../support/until.js';
import { violations } from './support/axe.js';
import { User } from './support/user.js';

let browser: Browser;
let server: Awaited<ReturnType<typeof startServer>>;

beforeAll(async () => {
  server = await startServer({ WORKERS: '2' });
  browser = await launchBrowser();
});
afterAll(() => server?.stop());

const count = async (page: Page, id: string) => Number((await page.textContent(`#${id}`))!.replace(/\D/g, ''));
/** How many rows say that the slow client is behind. */
const behind = (page: Page) => page.locator('#quotes .behind').count();

test.concurrent.each([1280, 390])(
  'the chat leads to the page about slow clients, which fits %i pixels, and whose slow client skips values and catches up',
  async (width) => {
    const user = await User.join(browser, server.url, 'Astrid', { viewport: { width, height: 800 } });
    const { page } = user;
    try {
      if (width < 1000) await page.locator('#people-toggle').click();
      await page.getByRole('link', { name: 'Live data and a slow client' }).click();
      await page.getByRole('heading', { level: 1, name: 'Live data and a slow client' }).waitFor();
      await until(async () => (await count(page, 'slow-received')) > 20);
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);

      const button = page.locator('#slow');
      await button.click();
      expect(await button.getAttribute('aria-pressed')).toBe('true');
      const fast = await count(page, 'fast-received');
      await until(async () => (await behind(page)) > 5 && (await count(page, 'fast-received')) > fast + 100);
      expect(await violations(page)).toEqual([]);
      // The next read brings the newest values alone.
      const skipped = await count(page, 'slow-skipped');
      await until(async () => (await count(page, 'slow-skipped')) > skipped + 20);

      await button.click();
      await until(async () => (await behind(page)) === 0);
      expect(await count(page, 'slow-skipped')).toBeGreaterThan(20);
      for (const id of ['fast-back', 'slow-back']) expect([id, await count(page, id)]).toEqual([id, 0]);
      expect(await page.textContent('#problem')).toBe('');
      expect(user.complaints).toEqual([]);
    } finally {
      await user.close();
    }
  },
);
