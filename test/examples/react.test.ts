// Installs React and Vite from the registry, so it is slow, and needs the network unless npm has the packages cached.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.js';
import { atEnd } from '../support/ends.js';
import { temporaryFolder } from '../support/folder.js';
import { Example } from './support/example.js';

const example = new Example('react');

beforeAll(() => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(example.application, 'package.json'), 'utf8'));
  const wanted = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => /react|vite/.test(name));
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'package.json'), '{}');
  const packages = wanted.map(([name, range]) => `${name}@${range}`);
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  execFileSync('npm', ['install', ...flags, ...packages], { cwd: folder, stdio: 'pipe' });
  const there = new Set(readdirSync(join(example.application, 'node_modules')));
  for (const name of readdirSync(join(folder, 'node_modules'))) {
    if (there.has(name) || name.startsWith('.')) continue;
    symlinkSync(join(folder, 'node_modules', name), join(example.application, 'node_modules', name));
  }
  runVite('build');
}, 300_000);

function runVite(...args: string[]): void {
  const vite = join(example.application, 'node_modules/vite/bin/vite.js');
  execFileSync(process.execPath, [vite, ...args], { cwd: example.application, stdio: 'pipe' });
}

/** A page of the example's server with another program, which calls the hooks. */
async function openPage(program: string): Promise<Page> {
  const files = {
    'src/program.jsx': program,
    'program.html': '<div id="root"></div><script type="module" src="/src/program.jsx"></script>',
    'program.config.js': `
      import config from './vite.config.js';
      export default { ...config, build: { emptyOutDir: false, rollupOptions: { input: 'program.html' } } };
    `,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(example.application, name), text);
  runVite('build', '--config', 'program.config.js');
  const browser = await launchBrowser();
  atEnd(
    () => browser.close(),
    () => example.close(),
  );
  const url = await example.serve({ DATA_DIR: temporaryFolder() });
  const page = await browser.newPage();
  await page.goto(`${url}/program.html`);
  return page;
}

test('a component that is mounted again before the client is connected gets the messages of its room', async () => {
  const page = await openPage(`
    import { useDurableRoom } from 'gjallar/react';
    import { useEffect } from 'react';
    import { createRoot } from 'react-dom/client';
    import { io } from 'socket.io-client';

    const socket = io({ autoConnect: false, auth: { name: 'Ada' } });
    const root = createRoot(document.getElementById('root'));
    let onGone;

    function Talk() {
      const { messages, isJoined, error } = useDurableRoom(socket, 'talk:lunch');
      useEffect(() => {
        document.title = 'mounted';
        // The hook's own timer is the earlier one.
        return () => setTimeout(onGone);
      }, []);
      return <p>{[isJoined ? 'joined' : 'waiting', error?.code, ...messages.map(({ values }) => values[1])].join()}</p>;
    }

    window.mount = () => root.render(<Talk />);
    window.unmount = () => new Promise((resolve) => {
      onGone = resolve;
      root.render(null);
    });
    window.socket = socket;
    window.mount();
  `);
  await page.getByText('waiting').waitFor();
  await page.waitForFunction('document.title');
  await page.evaluate('unmount().then(mount)');
  await page.getByText('waiting').waitFor();
  await page.evaluate('void socket.connect()');
  await page.getByText('joined').waitFor();
  await page.evaluate(`void socket.emit('say', 'Hello')`);
  await page.getByText('joined,,Hello').waitFor();
  await page.evaluate('unmount().then(mount)');
  await page.getByText('joined,,Hello').waitFor();
});

test('two users see the votes, each other and what was said, also after a reload', async () => {
  const browser = await launchBrowser();
  atEnd(
    () => browser.close(),
    () => example.close(),
  );
  const url = await example.serve();
  const errors: string[] = [];
  const open = async (name: string) => {
    const page = await browser.newPage();
    page.on('pageerror', ({ message }) => errors.push(message));
    await page.goto(`${url}/?name=${name}`);
    return page;
  };
  const ada = await open('Ada');
  await ada.getByText('1: Ada').waitFor();
  const ben = await open('Ben');
  for (const page of [ada, ben]) await page.getByText(/^2: (Ada, Ben|Ben, Ada)$/).waitFor();

  await ada.getByRole('button', { name: 'Soup: 0' }).click();
  for (const page of [ada, ben]) await page.getByRole('button', { name: 'Soup: 1' }).waitFor();

  const say = async (page: typeof ada, text: string) => {
    await page.getByLabel('Message').fill(text);
    await page.getByLabel('Message').press('Enter');
  };
  await say(ada, 'Soup?');
  await ben.getByText('Ada: Soup?').waitFor();
  await ada.reload();
  await say(ben, 'Soup!');
  await ada.getByText('Ben: Soup!').waitFor();
  expect(await ada.locator('ol li').allTextContents()).toEqual(['Ada: Soup?', 'Ben: Soup!']);
  await ada.close();
  await ben.getByText('1: Ben').waitFor();
  expect(errors).toEqual([]);
});
