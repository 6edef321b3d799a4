import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { violations } from '../support/axe.js';
import type { Demo } from '../support/demo.js';

/** A figure of the page by its id. Runs in the page. */
const figure = "(id) => Number.parseFloat(document.getElementById(id).textContent.replace(/[^\\d.]/g, ''))";
const read = (page: Page, id: string) => page.evaluate<number>(`(${figure})('${id}')`);

/** Resolves once the figures fit. The page itself looks, because each question from here costs both of us something. */
const showing = (page: Page, fits: string) =>
  page.evaluate(`(async () => {
    const read = ${figure};
    const end = Date.now() + 60_000;
    while (!(${fits})) {
      if (Date.now() > end) throw new Error('Not within a minute: ' + ${JSON.stringify(fits)});
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })()`);

export function liveTests(demo: Demo): void {
  test.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)(
    'the chat leads to the page about slow clients, at %i pixels and %s: a state room skips values, plain emits wait',
    async (width, colorScheme) => {
      const user = await demo.joinAt(demo.server.url, 'Astrid', { viewport: { width, height: 800 }, colorScheme });
      const { page } = user;
      if (width < 1000) await page.locator('#people-toggle').click();
      await page.getByRole('link', { name: 'Live data and a slow client' }).click();
      await page.getByRole('heading', { level: 1, name: 'Live data and a slow client' }).waitFor();
      // The slow client of the state room skips what the other one has yet to read.
      await showing(page, "read('state-skipped') > 100 && read('plain-waiting') > 5 * read('state-waiting')");
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(await page.getAttribute('#plain-lag-chart .lag', 'd')).toMatch(/^M.+L/);

      const button = page.getByRole('button', { name: 'Slow link', pressed: true });
      await button.click();
      await page.getByRole('button', { name: 'Slow link', pressed: false }).waitFor();
      // The page shows at once what has waited.
      await showing(page, "read('plain-waiting') < 1 && read('plain-lag') < 1 && read('state-lag') < 1");
      for (const id of ['fast-back', 'state-back', 'plain-back', 'plain-skipped']) expect(await read(page, id)).toBe(0);
      expect(await page.textContent('#problem')).toBe('');
    },
  );
}
