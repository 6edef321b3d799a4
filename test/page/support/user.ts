import type { Browser, BrowserContext, Page } from 'playwright-core';

/** What the browser itself reports while the server is unreachable, or while it rejects; anything else on the console is a defect of the page. */
const NETWORK_ERROR = /net::ERR_|WebSocket connection to .* failed|Failed to load resource/;

/** What a browser shows, and to whom. Those of one browser have the same credentials. */
export interface Settings {
  readonly viewport?: { width: number; height: number };
  readonly colorScheme?: 'light' | 'dark';
  readonly forcedColors?: 'active' | 'none';
  readonly httpCredentials?: { username: string; password: string };
}

/** Empty pages that nobody uses, by their browser: a new one costs more than twice as much as to use one again. */
const unused = new WeakMap<Browser, Page[]>();

/** One person with a browser of their own, on the page. */
export class User {
  readonly complaints: string[] = [];
  serverAway = false;
  private isGone = false;

  private constructor(
    private readonly browser: Browser,
    readonly context: BrowserContext,
    readonly page: Page,
  ) {}

  static async visit(browser: Browser, url: string, settings: Settings = {}): Promise<User> {
    const { viewport = { width: 1280, height: 720 }, colorScheme = 'light', forcedColors = 'none' } = settings;
    const page = unused.get(browser)?.pop() ?? (await newPage(browser, settings));
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, forcedColors });
    const user = new User(browser, page.context(), page);
    page.on('console', (message) => {
      const expected = user.serverAway && NETWORK_ERROR.test(message.text());
      if (['error', 'warning'].includes(message.type()) && !expected) user.complaints.push(message.text());
    });
    page.on('pageerror', (error) => user.complaints.push(String(error)));
    await page.goto(url);
    return user;
  }

  /** A visit that fills in the form and waits until the room is joined and the websocket carries it. */
  static async join(browser: Browser, url: string, name: string, settings?: Settings): Promise<User> {
    const user = await User.visit(browser, url, settings);
    await user.entersAs(name);
    await user.sees('#transport', /^websocket$/);
    await user.seesPerson(name);
    return user;
  }

  async entersAs(name: string): Promise<void> {
    await this.page.getByLabel('Your name').fill(name);
    await this.page.getByRole('button', { name: 'Join' }).click();
  }

  /** Gives the token that the server asks for. */
  async entersToken(token: string): Promise<void> {
    await this.page.getByLabel('Your token').fill(token);
    await this.page.getByRole('button', { name: 'Join' }).click();
  }

  async sees(selector: string, text: string | RegExp): Promise<void> {
    await this.page.locator(selector).filter({ hasText: text }).waitFor();
  }

  async seesPerson(name: string): Promise<void> {
    // On a narrow page, the list is behind a button.
    await this.page.locator('#people-list li').filter({ hasText: name }).waitFor({ state: 'attached' });
  }

  async types(text: string): Promise<void> {
    const draft = this.page.getByLabel('Message', { exact: true });
    await draft.fill(text);
    await draft.press('Enter');
  }

  async hears(text: string): Promise<void> {
    await this.page.locator('#messages .text').getByText(text, { exact: true }).waitFor();
  }

  heard(): Promise<string[]> {
    return this.page.locator('#messages .text').allTextContents();
  }

  focusedId(): Promise<string | undefined> {
    return this.page.evaluate(() => document.activeElement?.id);
  }

  /** Ends the visit. Another user may then have the page, with nothing of this one. */
  async close(): Promise<void> {
    if (this.isGone) return;
    this.isGone = true;
    const { context, page } = this;
    for (const event of ['console', 'pageerror', 'request'] as const) page.removeAllListeners(event);
    try {
      // Of the same origin, and without a script that could write something once more.
      await page.goto(new URL('/nothing', page.url()).href);
      await page.evaluate(() => {
        localStorage.clear();
        sessionStorage.clear();
      });
      for (const other of context.pages()) if (other !== page) await other.close();
      await context.clearCookies();
    } catch {
      // The server is gone, or the page is.
      await context.close();
      return;
    }
    const pages = unused.get(this.browser) ?? [];
    unused.set(this.browser, [...pages, page]);
  }
}

async function newPage(browser: Browser, { httpCredentials }: Settings): Promise<Page> {
  const context = await browser.newContext(httpCredentials && { httpCredentials });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  return page;
}
