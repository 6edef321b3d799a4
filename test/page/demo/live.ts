import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { violations } from '../support/axe.js';
import type { Demo } from '../support/demo.js';

interface Figures {
  /** How many rows say that the slow client is behind. */
  readonly behind: number;
  readonly fast: number;
  readonly slow: number;
  readonly skipped: number;
  readonly back: readonly [fast: number, slow: number];
}

/** The figures of the page, all of one moment. Runs in the page. */
const figures = `(() => {
  const count = (id) => Number(document.getElementById(id).textContent.replace(/\\D/g, ''));
  return {
    behind: document.querySelectorAll('#quotes .behind').length,
    fast: count('fast-received'),
    slow: count('slow-received'),
    skipped: count('slow-skipped'),
    back: [count('fast-back'), count('slow-back')],
  };
})()`;
const figuresOf = (page: Page) => page.evaluate<Figures>(figures);

/** Resolves once the figures fit. The page itself looks, because each question from here costs both of us something. */
const showing = (page: Page, fits: string) =>
  page.evaluate(`(async () => {
    const end = Date.now() + 60_000;
    while (!(({ behind, fast, slow, skipped }) => ${fits})(${figures})) {
      if (Date.now() > end) throw new Error('Not within a minute: ' + ${JSON.stringify(fits)});
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })()`);

export function liveTests(demo: Demo): void {
  test.each([1280, 390])(
    'the chat leads to the page about slow clients, which fits %i pixels, and whose slow client skips values and catches up',
    async (width) => {
      const user = await demo.joinAt(demo.server.url, 'Astrid', { viewport: { width, height: 800 } });
      const { page } = user;
      if (width < 1000) await page.locator('#people-toggle').click();
      await page.getByRole('link', { name: 'Live data and a slow client' }).click();
      await page.getByRole('heading', { level: 1, name: 'Live data and a slow client' }).waitFor();
      await showing(page, 'slow > 20');
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);

      const button = page.locator('#slow');
      await button.click();
      expect(await button.getAttribute('aria-pressed')).toBe('true');
      const { fast } = await figuresOf(page);
      await showing(page, `behind > 5 && fast > ${fast + 100}`);
      expect(await violations(page)).toEqual([]);
      // The next read brings the newest values alone.
      const { skipped } = await figuresOf(page);
      await showing(page, `skipped > ${skipped + 20}`);
      expect(Number.parseFloat((await page.textContent('#slow-age'))!)).toBeLessThan(1.2);

      await button.click();
      await showing(page, 'behind === 0');
      const after = await figuresOf(page);
      expect(after.skipped).toBeGreaterThan(20);
      expect(after.back).toEqual([0, 0]);
      expect(await page.textContent('#problem')).toBe('');
    },
  );
}
