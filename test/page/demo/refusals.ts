import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningServer, startServer } from '../../support/server.js';
import { SECRET, tokenOf } from '../../support/tokens.js';
import type { Demo } from '../support/demo.js';
import type { User } from '../support/user.js';

export function refusalTests(demo: Demo): void {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer({ WORKERS: '1', JWT_SECRET: SECRET });
  });
  afterAll(() => server?.stop());

  /** A user that the server has asked for a token. */
  async function askedForToken(room: string): Promise<User> {
    const user = await demo.visit(`${server.url}/#${room}`);
    user.serverAway = true;
    await user.entersAs('Astrid');
    await user.sees('#entry-problem', 'This server requires a token.');
    return user;
  }

  test('a server with tokens asks for one, and the page takes the name of its user', async () => {
    const user = await askedForToken('tokens');
    await user.entersToken('not a token');
    await user.sees('#entry-problem', 'does not accept the token');
    await user.entersToken(await tokenOf({ sub: 'user-7' }));
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
    await user.entersToken(await tokenOf({ sub: 'user-8' }, { expires: '3s' }));
    await user.seesPerson('user-8');
    await user.sees('#banner-text', 'The token has expired.');
    expect(await user.page.locator('#entry').isVisible()).toBe(false);
    await user.page.getByRole('button', { name: 'Change name or token' }).click();
    await user.entersToken(await tokenOf({ sub: 'user-8' }));
    await user.sees('#state', 'Connected');
  });

  test('a room that the token does not allow is not remembered', async () => {
    const user = await askedForToken('ops');
    await user.entersToken(await tokenOf({ sub: 'user-9', rooms: { join: ['lobby', 'read'], publish: ['lobby'] } }));
    await user.sees('#banner-text', 'You cannot enter ops: The token does not allow this in this room.');
    await user.types('Hello?');
    await user.sees('#outbox .item-status', 'The token does not allow this');
    await user.page.goto('about:blank');
    await user.page.goto(server.url);
    await user.sees('#room-name', /^lobby$/);
    await user.seesPerson('user-9');

    // There is no point in sending it again.
    await user.page.getByRole('button', { name: 'Change room' }).click();
    await user.page.getByLabel('Room', { exact: true }).fill('read');
    await user.page.getByRole('button', { name: 'Join' }).click();
    await user.sees('#room-name', /^read$/);
    await user.types('Once only');
    await user.sees('#outbox .item-status', 'The token does not allow this');
    expect(await user.page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await user.page.getByRole('button', { name: 'Edit' }).click();
    expect(await user.page.locator('#draft').inputValue()).toBe('Once only');
  });

  test('shows display names with the identities behind them', async () => {
    const join = async (claims: { sub: string; name: string }) => {
      const user = await askedForToken('names');
      await user.entersToken(await tokenOf(claims));
      await user.seesPerson(claims.sub);
      return user;
    };
    // One after the other, because a busy server may leave presence events out.
    const mallory = await join({ sub: 'user-2', name: 'Ann Other' });
    const ann = await join({ sub: 'user-1', name: 'Ann Other' });
    await ann.seesPerson('user-2');
    const people = ann.page.locator('#people-list .name');
    expect(await people.allTextContents()).toEqual(['Ann Other user-1', 'Ann Other user-2']);
    expect(await people.evaluateAll((nodes) => nodes.map((node) => node.getAttribute('title')))).toEqual([
      'user-1',
      'user-2',
    ]);
    await mallory.types('It is me.');
    await ann.hears('It is me.');
    const sender = ann.page.locator('#messages .sender');
    expect([await sender.textContent(), await sender.getAttribute('title')]).toEqual(['Ann Other user-2', 'user-2']);
    // After a reload, the message arrives before the names.
    await ann.page.reload();
    await sender.filter({ hasText: 'Ann Other' }).waitFor();
  });
}
