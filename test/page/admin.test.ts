import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import type { Socket } from 'socket.io-client';
import type { ClientPage } from '../../src/host/operations/overview/clients.js';
import type { Overview } from '../../src/host/operations/overview/overview.js';
import { launchBrowser } from '../support/browser.js';
import { connect, connected, disconnectAll, expectOk } from '../support/clients.js';
import { type RunningServer, startServer } from '../support/server.js';
import { until } from '../support/until.js';
import { violations } from './support/axe.js';
import { type Settings, User } from './support/user.js';

const account = { username: 'ops', password: 'pass word' };
const HOSTILE = '<img src=x onerror=alert(1)>';

describe('the page of the operator', () => {
  let browser: Browser;
  let server: RunningServer;
  let admin: string;
  const users: User[] = [];
  const clients = new Map<string, Socket>();

  beforeAll(async () => {
    server = await start('0');
    admin = `http://127.0.0.1:${(await server.logged(({ msg }) => msg === 'the admin port is open')).port}`;
    browser = await launchBrowser();
  });

  // A test may disconnect somebody, or stop the server.
  beforeEach(async () => {
    for (const name of ['Astrid', 'Bjørn', HOSTILE])
      if (!clients.get(name)?.connected) await join(name, 'hall', ...(name === HOSTILE ? [HOSTILE] : []));
  });

  afterEach(async () => {
    const complaints = users.flatMap((user) => user.complaints);
    await Promise.all(users.splice(0).map((user) => user.close()));
    expect(complaints).toEqual([]);
  });

  afterAll(async () => {
    disconnectAll();
    await server?.stop();
  });

  function start(adminPort: string): Promise<RunningServer> {
    return startServer({
      ADMIN_PORT: adminPort,
      DRAIN_TIMEOUT: '0',
      ADMIN_USER: account.username,
      ADMIN_PASSWORD: account.password,
      TRUST_PROXY: '1',
      // Named by /readyz, so the page has a problem to show.
      ARCHIVE_URL: 'postgres://127.0.0.1:1/none',
    });
  }

  async function join(name: string, ...rooms: string[]): Promise<void> {
    const client = connect(server.url, { auth: { name }, reconnection: false });
    clients.set(name, client);
    await connected(client);
    for (const room of rooms) expectOk(await client.emitWithAck('join', room));
    for (const room of rooms) expectOk(await client.emitWithAck('message', { room, text: 'hello' }));
  }

  async function visit(settings: Settings = {}): Promise<User> {
    // The page lists those who have sent something lately.
    for (const client of clients.values())
      if (client.connected) client.emit('message', { room: 'hall', text: 'hello' });
    const user = await User.visit(browser, `${admin}/admin`, { httpCredentials: account, ...settings });
    users.push(user);
    await user.sees('#state', /Ready|Degraded/);
    return user;
  }

  test('shows workers, rooms, users, addresses, rejections and problems, and parses no name as HTML', async () => {
    connect(`${server.url}/nowhere`);
    const user = await visit();
    await user.sees('#workers tr', /^1.*ready/);
    await user.sees('#workers tr', /^2.*ready/);
    await user.sees('[data-tile="clients"] .figure', /^[34]$/);
    await user.sees('#rooms tr', /^hall3/);
    await user.sees('#rooms th', HOSTILE);
    await user.sees('#users th', HOSTILE);
    await user.sees('#addresses th', '127.0.0.1');
    await user.sees('#recent tr', /UNKNOWN_NAMESPACE.*a client was rejected.*namespace \/nowhere/);
    await user.sees('#problem-list li', /the archive cannot be written to.*Check the database of ARCHIVE_URL/);
    expect(await user.page.locator('#lists img').count()).toBe(0);
  });

  test.each([
    ['wide', { viewport: { width: 1280, height: 800 } }],
    ['narrow and dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
  ] as const)(
    'axe finds nothing on a %s page, with dialog, nothing is wider than the page, and names are legible',
    async (_view, options) => {
      const user = await visit(options);
      await user.sees('#rooms tr', /^hall/);
      expect(await violations(user.page)).toEqual([]);
      expect(await user.page.evaluate(() => document.documentElement.scrollWidth)).toBe(options.viewport.width);
      const name = user.page.locator('#rooms tbody th', { hasText: /^hall$/ });
      expect(await name.evaluate((cell) => cell.scrollWidth <= cell.clientWidth)).toBe(true);
      await user.page.getByRole('button', { name: 'Disconnect…' }).click();
      expect(await violations(user.page)).toEqual([]);
    },
  );

  test('finds clients by name, address and room, and says in which rooms they are', async () => {
    const extraHeaders = { 'x-forwarded-for': '::ffff:192.0.2.7' };
    const mapped = connect(server.url, { auth: { name: 'Mapped' }, extraHeaders, reconnection: false });
    await connected(mapped);
    for (const room of ['hall', 'cellar']) expectOk(await mapped.emitWithAck('join', room));
    const user = await visit();
    const rows = user.page.locator('#clients tbody tr');
    await user.sees('#clients tr', /^Mapped192\.0\.2\.7/);
    await user.page.getByRole('searchbox').fill('0.2.7');
    await user.sees('#client-count', /^1–1 of 1 on this machine/);
    expect(await rows.locator('.rooms button').allTextContents()).toEqual(['hall', 'cellar']);
    await user.page.getByRole('searchbox').fill('');
    await user.sees('#client-count', /^1–4 of 4/);

    await rows.getByRole('button', { name: 'Clients in cellar' }).click();
    await user.sees('#client-count', '1–1 of 1 on this machine in cellar.');
    await user.page.getByRole('button', { name: 'All rooms' }).click();
    await user.page.locator('#rooms').getByRole('button', { name: 'Clients in hall' }).click();
    await user.sees('#client-count', /^1–4 of 4 on this machine in hall/);
    await rows.getByRole('button', { name: 'Disconnect Mapped' }).click();
    const gone = new Promise((resolve) => mapped.once('disconnect', resolve));
    await user.page.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await gone;
    await user.sees('#client-count', /^1–3 of 3/);
  });

  test('has a page of 50 clients at a time, of all workers, each client once', async () => {
    const crowd = Array.from({ length: 120 }, (_, at) =>
      connect(server.url, { auth: { name: `crowd ${at}` }, transports: ['websocket'], reconnection: false }),
    );
    await Promise.all(crowd.map(connected));
    const headers = { authorization: `Basic ${Buffer.from('ops:pass word').toString('base64')}` };
    const read = async (after: string) => {
      const query = new URLSearchParams({ search: 'CROWD', after });
      return (await (await fetch(`${admin}/api/clients?${query}`, { headers })).json()) as ClientPage;
    };
    const names: (string | undefined)[] = [];
    let page = await read('');
    for (; ; page = await read(page.clients.at(-1)!.id)) {
      expect([page.matching, page.complete, page.clients.length <= 50]).toEqual([120, true, true]);
      names.push(...page.clients.map(({ user }) => user));
      if (!page.hasMore) break;
    }
    expect(names.sort()).toEqual(crowd.map((_, at) => `crowd ${at}`).sort());
    for (const client of crowd) client.disconnect();
    const long = await fetch(`${admin}/api/clients?search=${'x'.repeat(2000)}`, { headers });
    expect([long.status, await long.json()]).toMatchObject([400, { code: 'BAD_INPUT' }]);
  });

  test('draws what the server has kept, and leaves out what this server cannot have', async () => {
    const headers = { authorization: `Basic ${Buffer.from('ops:pass word').toString('base64')}` };
    const read = async () => (await (await fetch(`${admin}/api/overview`, { headers })).json()) as Overview;
    await until(async () => (await read()).history.figures.clients.length >= 2);
    const user = await visit();
    const course = await user.page.locator('[data-tile="clients"] .line').getAttribute('d');
    // The first reading of this page is not its first point.
    expect(course!.split('L').length).toBeGreaterThanOrEqual(3);
    const shown = await user.page.locator('#details tbody th').allTextContents();
    expect(shown).toEqual(expect.arrayContaining(['Rooms', 'Stored messages']));
  });

  test('disconnects a user by keyboard alone, after a confirmation, and not after a cancellation', async () => {
    const user = await visit({ viewport: { width: 1280, height: 800 } });
    const { keyboard } = user.page;
    const press = user.page.locator('#users').getByRole('button', { name: 'Disconnect Bjørn' });
    const dialog = user.page.getByRole('dialog', { name: 'Disconnect Bjørn?' });
    await press.waitFor();
    // The way there by the Tab key.
    for (let presses = 0; !(await press.evaluate((button) => button === document.activeElement)); presses++) {
      expect(presses).toBeLessThan(100);
      await keyboard.press('Tab');
    }
    const asked: string[] = [];
    user.page.on('request', (request) => request.method() === 'POST' && asked.push(request.url()));
    await keyboard.press('Enter');
    await dialog.waitFor();
    expect(await user.focusedId()).toBe('dialog-cancel');
    await keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await keyboard.press('Enter');
    await dialog.waitFor();
    await keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await press.evaluate((button) => button === document.activeElement)).toBe(true);
    expect([asked, clients.get('Bjørn')!.connected]).toEqual([[], true]);

    await keyboard.press('Enter');
    await keyboard.press('Tab');
    const gone = new Promise((resolve) => clients.get('Bjørn')!.once('disconnect', resolve));
    await keyboard.press('Enter');
    await gone;
    await user.sees('#done', 'Disconnected 1 client of Bjørn.');
    expect(asked).toEqual([`${admin}/api/disconnect`]);
  });

  test('closes a room whose name is typed, and says why an action fails', async () => {
    const user = await visit();
    await join('Saga', 'kitchen');
    await user.page.getByRole('button', { name: 'Close room…' }).click();
    await user.page.getByRole('textbox', { name: 'Room' }).fill('kitchen');
    const closed = new Promise((resolve) => clients.get('Saga')!.once('ended', resolve));
    await user.page.getByRole('button', { name: 'Close room', exact: true }).click();
    expect(await closed).toMatchObject({ room: 'kitchen', code: 'ROOM_CLOSED' });
    await user.sees('#done', 'Closed kitchen: 1 client left it.');
    clients.get('Saga')!.disconnect();

    user.serverAway = true;
    await user.page.getByRole('button', { name: 'Disconnect…' }).click();
    await user.page.getByRole('combobox', { name: 'What' }).selectOption('address');
    await user.page.getByRole('textbox', { name: 'Name or address' }).fill('nonsense');
    await user.page.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await user.sees('#dialog-failure', 'Invalid address.');
  });

  test('reads nothing while its tab is hidden', async () => {
    const user = await visit();
    await user.page.clock.install();
    await user.page.reload();
    await user.sees('#state', /Ready|Degraded/);
    const reads: string[] = [];
    user.page.on('request', (request) => reads.push(request.url()));
    user.serverAway = true;
    const hide = (state: string) =>
      user.page.evaluate((value) => {
        Object.defineProperty(document, 'visibilityState', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, state);
    await hide('hidden');
    reads.length = 0;
    await user.page.clock.fastForward(60_000);
    // A request that the timers had caused would be under way before this one.
    await user.page.evaluate(() => fetch('fence', { method: 'HEAD' }));
    expect(reads).toEqual([`${admin}/admin/fence`]);
    await hide('visible');
    await until(() => reads.includes(`${admin}/api/overview`));
    // Its clock stays as it is.
    await user.context.close();
  });

  test('asks for the password, and is not part of the public port', async () => {
    for (const path of ['/admin', '/admin/', '/admin/app.js', '/api/overview']) {
      expect([path, (await fetch(`${admin}${path}`, { redirect: 'manual' })).status]).toEqual([path, 401]);
      expect([path, (await fetch(`${server.url}${path}`)).status]).toEqual([path, 404]);
    }
  });

  test('says that the server is gone, and continues when it is back', async () => {
    const user = await visit();
    user.serverAway = true;
    await server.stop();
    await user.sees('#lost', 'The server cannot be reached. The figures are old.');
    await user.sees('#state', 'Unknown');
    server = await start(new URL(admin).port);
    await user.sees('#state', 'Degraded');
    await user.page.locator('#lost').waitFor({ state: 'hidden' });
  });
});
