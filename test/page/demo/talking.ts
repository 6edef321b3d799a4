import { beforeEach, expect, test } from '@jest/globals';
import { until } from '../../support/until.js';
import { Wire } from '../../support/wire.js';
import { violations } from '../support/axe.js';
import type { Demo } from '../support/demo.js';
import type { User } from '../support/user.js';

export function talkingTests(demo: Demo): void {
  let room: string;
  let rooms = 0;

  beforeEach(() => {
    rooms += 1;
    room = `room-${rooms}`;
  });

  const join = (...names: string[]) => Promise.all(names.map((name) => demo.join(room, name)));

  async function twoTalking(): Promise<[User, User]> {
    const [astrid, bjorn] = (await join('Astrid', 'Bjørn')) as [User, User];
    await Promise.all([astrid.seesPerson('Bjørn'), bjorn.seesPerson('Astrid')]);
    return [astrid, bjorn];
  }

  test('lets two users talk and see each other, and what they are connected to', async () => {
    const [astrid, bjorn] = await twoTalking();
    await astrid.types('Do you hear me?');
    await bjorn.hears('Do you hear me?');
    await bjorn.types('Loud and clear.');
    await astrid.hears('Loud and clear.');

    for (const user of [astrid, bjorn]) {
      expect(await user.heard()).toEqual(['Do you hear me?', 'Loud and clear.']);
      await user.sees('#people-count', /^2$/);
      await user.sees('#state', 'Connected');
      await user.sees('#worker', /^[^–.]+$/);
      await user.sees('#rtt', /^[\d.]+ ms$/);
      expect(await user.page.locator('#outbox li').count()).toBe(0);
    }

    await bjorn.close();
    await astrid.sees('#people-count', /^1$/);
  });

  test('marks a name that several have chosen, for all of them and for others', async () => {
    const [ann, other, bo] = (await join('Ann', 'Ann', 'Bo')) as [User, User, User];
    for (const user of [ann, other, bo]) await user.sees('#people-list', /Ann ×2/);
    await other.types('Which one am I?');
    await bo.page.locator('.message', { hasText: 'Ann ×2' }).waitFor();
    await other.close();
    for (const { page } of [ann, bo])
      await until(async () => (await page.locator('.shared', { hasText: '×2' }).count()) === 0);
  });

  test('comes back after a restart of the server, without a reload', async () => {
    const [astrid, bjorn] = await twoTalking();
    for (const user of [astrid, bjorn]) {
      await user.page.evaluate(() => document.body.setAttribute('data-loaded', 'once'));
      user.serverAway = true;
    }
    await demo.server.restart();
    for (const user of [astrid, bjorn]) {
      await user.page.locator('.note', { hasText: 'Reconnected.' }).waitFor();
      await user.sees('#transport', /^websocket$/);
      user.serverAway = false;
    }

    await astrid.types('Still there?');
    await bjorn.hears('Still there?');
    await bjorn.types('Still here.');
    await astrid.hears('Still here.');
    for (const user of [astrid, bjorn]) {
      expect(await user.page.locator('body').getAttribute('data-loaded')).toBe('once');
    }
  });

  test('keeps what is written while the server is away, and sends it once when it is back', async () => {
    const [astrid, bjorn] = await twoTalking();
    for (const user of [astrid, bjorn]) user.serverAway = true;
    const gone = Promise.all([astrid, bjorn].map((user) => user.sees('#state', 'Reconnecting')));
    await demo.server.stop();
    await gone;
    await astrid.types('Written in the dark');
    await astrid.sees('#outbox li', 'Waiting for the connection');

    await demo.server.restart();
    await bjorn.page.locator('.note', { hasText: 'Reconnected.' }).waitFor();
    await astrid.hears('Written in the dark');
    await astrid.types('And this in the light');
    await bjorn.hears('And this in the light');
    expect(await astrid.heard()).toEqual(['Written in the dark', 'And this in the light']);
    expect(await astrid.page.locator('#outbox li').count()).toBe(0);
  });

  test('shows what was said before one came, and what was said while one was cut off, in its place', async () => {
    const wire = await Wire.to(demo.server.port);
    try {
      const [astrid] = (await join('Astrid')) as [User];
      for (const text of ['one', 'two']) {
        await astrid.types(text);
        await astrid.hears(text);
      }
      const bjorn = await demo.joinAt(`http://127.0.0.1:${wire.port}/#${room}`, 'Bjørn');
      await bjorn.hears('two');
      await bjorn.types('three');
      await astrid.hears('three');

      bjorn.serverAway = true;
      wire.cut();
      await bjorn.sees('#state', 'Reconnecting');
      for (const text of ['four', 'five']) {
        await astrid.types(text);
        await astrid.hears(text);
      }
      wire.mend();
      await bjorn.hears('five');
      bjorn.serverAway = false;
      await bjorn.types('six');
      await astrid.hears('six');
      await bjorn.hears('six');
      const all = ['one', 'two', 'three', 'four', 'five', 'six'];
      for (const user of [astrid, bjorn]) expect(await user.heard()).toEqual(all);
      const lines = await bjorn.page.locator('#messages .note, #messages .text').allTextContents();
      expect(lines.indexOf('Reconnected. Messages you missed:')).toBe(lines.indexOf('four') - 1);
    } finally {
      wire.close();
    }
  });

  test('can be used with the keyboard alone', async () => {
    const user = await demo.visit(`${demo.server.url}/#${room}`);
    const { keyboard } = user.page;
    await user.page.locator('#entry-user:focus').waitFor();
    await keyboard.press('Escape');
    await keyboard.type('Chen');
    await keyboard.press('Enter');
    await user.page.locator('#draft:focus').waitFor();
    await user.seesPerson('Chen');

    await keyboard.type('first line');
    await keyboard.press('Shift+Enter');
    await keyboard.type('second line');
    await keyboard.press('Enter');
    await user.hears('first line\nsecond line');
    expect(await user.focusedId()).toBe('draft');

    // Backwards from the text field: the messages, which scroll with the arrow keys, then the room.
    await keyboard.press('Shift+Tab');
    expect(await user.focusedId()).toBe('scroller');
    await keyboard.press('Shift+Tab');
    expect(await user.focusedId()).toBe('change-room');

    await keyboard.press('Enter');
    await user.page.locator('#entry-room:focus').waitFor();
    await keyboard.press('Escape');
    await user.page.locator('#change-room:focus').waitFor();

    await keyboard.press('Enter');
    await user.page.locator('#entry-room:focus').waitFor();
    await keyboard.type(`elsewhere-${rooms}`);
    await keyboard.press('Enter');
    await user.sees('#room-name', `elsewhere-${rooms}`);
    await user.page.locator('#draft:focus').waitFor();
    expect(new URL(user.page.url()).hash).toBe(`#elsewhere-${rooms}`);
    await keyboard.type('in another room');
    await keyboard.press('Enter');
    await user.hears('in another room');
    expect(await user.heard()).toEqual(['in another room']);
  });

  test('a press on a name opens a thread with that user, which others do not see, and which survives a reload', async () => {
    const [astrid, bjorn, chen] = (await join('Astrid', 'Bjørn', 'Chen')) as [User, User, User];
    await Promise.all(['Bjørn', 'Chen'].map((name) => astrid.seesPerson(name)));
    const thread = (user: User, name: string) => user.page.locator('#thread-list').getByRole('button', { name });
    await astrid.page.locator('#people-list').getByRole('button', { name: 'Bjørn' }).click();
    await astrid.sees('#addressee', 'Only to Bjørn');
    expect(await astrid.focusedId()).toBe('draft');
    await astrid.types('for you');
    await astrid.hears('for you');
    expect(await bjorn.heard()).toEqual([]);
    await thread(bjorn, 'Astrid 1 unread').click();
    await bjorn.hears('for you');
    expect(await thread(bjorn, 'Astrid').textContent()).not.toContain('unread');
    await bjorn.types('and for you');
    await astrid.hears('and for you');
    await bjorn.page.getByRole('button', { name: 'Back to the room' }).click();
    await bjorn.types('for all');
    for (const user of [bjorn, chen]) await user.hears('for all');
    expect([await bjorn.heard(), await chen.heard()]).toEqual([['for all'], ['for all']]);
    await thread(astrid, `# ${room} 1 unread`).click();
    await astrid.hears('for all');
    expect(await violations(astrid.page)).toEqual([]);
    expect(await chen.page.locator('#threads').isVisible()).toBe(false);

    await astrid.page.reload();
    await thread(astrid, 'Bjørn').press('Enter');
    await astrid.hears('and for you');
    expect(await astrid.heard()).toEqual(['for you', 'and for you']);
    expect(await astrid.page.locator('#messages .own .text').allTextContents()).toEqual(['for you']);
    await astrid.page.locator('#draft').press('Escape');
    await astrid.hears('for all');
    expect(await astrid.page.locator('#addressee').isVisible()).toBe(false);
  });

  test('a message whose answer was lost may have arrived: the page says so, and shows it', async () => {
    const wire = await Wire.to(demo.server.port);
    try {
      const [liv] = (await join('Liv')) as [User];
      const astrid = await demo.joinAt(`http://127.0.0.1:${wire.port}/#${room}`, 'Astrid');
      await astrid.page.getByRole('button', { name: 'Liv' }).click();
      wire.holdAnswers();
      await astrid.types('did it arrive?');
      await liv.page.locator('#thread-list').getByRole('button', { name: 'Astrid 1 unread' }).click();
      await liv.hears('did it arrive?');
      astrid.serverAway = true;
      wire.cut();
      await astrid.sees('#outbox li', 'The message may have arrived anyway.');
      wire.mend();
      await astrid.hears('did it arrive?');
      await astrid.page.getByRole('button', { name: 'Discard' }).click();
      expect(await astrid.page.locator('#outbox li').count()).toBe(0);
      expect([await astrid.heard(), await liv.heard()]).toEqual([['did it arrive?'], ['did it arrive?']]);
    } finally {
      wire.close();
    }
  });

  test('two clients with one name do not take the messages of the other one for their own', async () => {
    const [one, other] = (await join('Astrid', 'Astrid')) as [User, User];
    await one.types('from one');
    await other.hears('from one');
    await other.types('from the other');
    await one.hears('from the other');
    const own = (user: User) => user.page.locator('#messages .own .text').allTextContents();
    for (const reloads of [0, 1]) {
      if (reloads > 0) {
        await Promise.all([one, other].map((user) => user.page.reload()));
        for (const user of [one, other]) await user.hears('from the other');
      }
      expect([await own(one), await own(other)]).toEqual([['from one'], ['from the other']]);
      await one.sees('#messages .message:not(.own)', /Astrid.*not you.*from the other/);
      await other.sees('#messages .message:not(.own)', /Astrid.*not you.*from one/);
    }
  });

  test.each([
    [1280, 80],
    [390, 60],
  ])('on %i pixels, the header is at most %i pixels high, and no space is left unused', async (width, most) => {
    const user = await demo.join(room, 'Astrid', { viewport: { width, height: 800 } });
    await user.types('as far to the right as possible');
    await user.hears('as far to the right as possible');
    const boxOf = async (selector: string) => (await user.page.locator(selector).boundingBox())!;
    expect((await boxOf('.band')).height).toBeLessThanOrEqual(most);
    const [bubble, scroller] = [await boxOf('#messages .own .bubble'), await boxOf('#scroller')];
    expect(scroller.x + scroller.width - bubble.x - bubble.width).toBeLessThan(40);
    const end = width < 760 ? width : (await boxOf('#people')).x;
    expect(scroller.x + scroller.width).toBeCloseTo(end, 0);
  });

  test('shows markup in a message as text', async () => {
    const [astrid, bjorn] = await twoTalking();
    const text = '<img src=x onerror="document.body.id=\'owned\'"><b>bold</b> &amp; <script>alert(1)</script>';
    await astrid.types(text);
    await bjorn.hears(text);
    await astrid.hears(text);
    for (const user of [astrid, bjorn]) {
      expect(await user.page.locator('#messages img, #messages b, #messages script').count()).toBe(0);
      expect(await user.page.locator('body#owned').count()).toBe(0);
    }
  });

  test('remembers name and room, and a link leads to its room', async () => {
    const [astrid] = (await join('Astrid')) as [User];
    await astrid.page.goto('about:blank');
    await astrid.page.goto(demo.server.url);
    await astrid.seesPerson('Astrid');
    await astrid.sees('#room-name', `room-${rooms}`);

    await astrid.page.goto(`${demo.server.url}/#linked-${rooms}`);
    await astrid.sees('#room-name', `linked-${rooms}`);
    await astrid.types('Here by link');
    await astrid.hears('Here by link');
  });
}
