import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../../support/browser.js';
import { type RunningServer, startServer } from '../../support/server.js';
import { type Settings, User } from './user.js';

/** A server and a browser for all tests of a file, and the users of each test, whose pages must have no defects. */
export class Demo {
  server!: RunningServer;
  private browser!: Browser;
  private readonly users: User[] = [];

  /** To be created outside of the tests, with the server's settings. */
  constructor(environment: Record<string, string>) {
    beforeAll(async () => {
      this.server = await startServer(environment);
      this.browser = await launchBrowser();
    });
    afterEach(async () => {
      const complaints = this.users.flatMap((user) => user.complaints);
      await Promise.all(this.users.splice(0).map((user) => user.close()));
      expect(complaints).toEqual([]);
    });
    afterAll(() => this.server?.stop());
  }

  async visit(url: string, settings?: Settings): Promise<User> {
    return this.with(await User.visit(this.browser, url, settings));
  }

  /** @param room in which the user is, with the name */
  async join(room: string, name: string, settings?: Settings): Promise<User> {
    return this.joinAt(`${this.server.url}/#${room}`, name, settings);
  }

  async joinAt(url: string, name: string, settings?: Settings): Promise<User> {
    return this.with(await User.join(this.browser, url, name, settings));
  }

  private with(user: User): User {
    this.users.push(user);
    return user;
  }
}
