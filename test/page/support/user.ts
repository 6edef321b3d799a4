import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

/** What the browser itself reports while the server is unreachable, or while it rejects; anything else on the console is a defect of the page. */
const NETWORK_ERROR = /net::ERR_|WebSocket connection to .* failed|Failed to load resource/;

/** One person with a browser of their own, on the page. */
export class User {
  readonly complaints: string[] = [];
  serverAway = false;

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
  ) {}

  static async visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<User> {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const user = new User(context, page);
    page.on('console', (message) => {
      const expected = user.serverAway && NETWORK_ERROR.test(message.text());
      if (['error', 'warning'].includes(message.type()) && !expected) user.complaints.push(message.text());
    });
    page.on('pageerror', (error) => user.complaints.push(String(error)));
    await page.goto(url);
    return user;
  }

  /** A visit that fills in the form and waits until the room is joined and the websocket carries it. */
  static async join(browser: Browser, url: string, name: string, options?: BrowserContextOptions): Promise<User> {
    const user = await User.visit(browser, url, options);
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

  async close(): Promise<void> {
    await this.context.close();
  }
}
