import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/browser.js';
import { type RunningServer, startServer } from '../support/server.js';
import { User } from './support/user.js';

const secret = 'a secret of more than thirty-two bytes';

function tokenFor(sub: string, rooms?: object, lifetime = '1h'): Promise<string> {
  const token = new SignJWT({ sub, ...(rooms && { rooms }) }).setProtectedHeader({ alg: 'HS256' });
  return token.setExpirationTime(lifetime).sign(new TextEncoder().encode(secret));
}

describe('what the demo page says when the server refuses', () => {
  let browser: Browser;
  let server: RunningServer;
  const users: User[] = [];

  beforeAll(async () => {
    server = await startServer({ WORKERS: '1', JWT_SECRET: secret });
    browser = await launchBrowser();
  });
  afterEach(async () => {
    const complaints = users.flatMap((user) => user.complaints);
    await Promise.all(users.splice(0).map((user) => user.close()));
    expect(complaints).toEqual([]);
  });
  afterAll(() => server?.stop());

  /** A user that the server has asked for a token. */
  async function askedForToken(room: string): Promise<User> {
    const user = await User.visit(browser, `${server.url}/#${room}`);
    users.push(user);
    user.serverAway = true;
    await user.entersAs('Astrid');
    await user.sees('#entry-problem', 'This server requires a token.');
    return user;
  }

  test('a server with tokens asks for one, and the page takes the name of its user', async () => {
    const user = await askedForToken('tokens');
    await user.entersToken('not a token');
    await user.sees('#entry-problem', 'does not accept this token');
    await user.entersToken(await tokenFor('user-7'));
    await user.seesPerson('user-7');
    await user.sees('#me-name', /^user-7$/);
    await user.types('It is me.');
    await user.hears('It is me.');
    expect(await user.page.locator('#messages .own').count()).toBe(1);

    // A reload needs no second paste; another tab does.
    await user.page.reload();
    await user.seesPerson('user-7');
    await user.hears('It is me.');
    expect(await user.page.locator('#messages .own').count()).toBe(1);
    const tab = await user.context.newPage();
    await tab.goto(`${server.url}/#tokens`);
    await tab.getByLabel('Your token').waitFor();
  });

  test('an expired token ends the connection, and the banner asks for a new one', async () => {
    const user = await askedForToken('expiry');
    await user.entersToken(await tokenFor('user-8', undefined, '3s'));
    await user.seesPerson('user-8');
    await user.sees('#banner-text', 'Your token has expired.');
    expect(await user.page.locator('#entry').isVisible()).toBe(false);
    await user.page.getByRole('button', { name: 'Enter a token' }).click();
    await user.entersToken(await tokenFor('user-8'));
    await user.sees('#state', 'Connected');
  });

  test('a room that the token does not allow is not opened again', async () => {
    const user = await askedForToken('ops');
    await user.entersToken(await tokenFor('user-9', { join: ['lobby', 'read'], publish: ['lobby'] }));
    await user.sees('#banner-text', 'You cannot enter ops: Your token does not allow this in this room.');
    await user.types('Hello?');
    await user.sees('#outbox .item-status', 'Your token does not allow this');
    await user.page.reload();
    await user.sees('#room-name', /^lobby$/);
    await user.seesPerson('user-9');

    // There is no point in sending it again.
    await user.page.getByRole('button', { name: 'Change room' }).click();
    await user.page.getByLabel('Room', { exact: true }).fill('read');
    await user.page.getByRole('button', { name: 'Join' }).click();
    await user.sees('#room-name', /^read$/);
    await user.types('Once only');
    await user.sees('#outbox .item-status', 'Your token does not allow this');
    expect(await user.page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await user.page.getByRole('button', { name: 'Edit' }).click();
    expect(await user.page.locator('#draft').inputValue()).toBe('Once only');
  });
});

test('DEMO_PAGE=off leaves the client helper and the bundle, and no page', async () => {
  const server = await startServer({ WORKERS: '1', DEMO_PAGE: 'off' });
  try {
    const status = async (path: string) => (await fetch(server.url + path)).status;
    const paths = ['/', '/index.html', '/app.js', '/style.css', '/gjallar-client.js', '/socket.io/socket.io.min.js'];
    expect(await Promise.all(paths.map(status))).toEqual([404, 404, 404, 404, 200, 200]);
  } finally {
    await server.stop();
  }
});
