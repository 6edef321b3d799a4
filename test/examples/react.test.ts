// Installs React and Vite from the registry, so it is slow, and needs the network unless npm has the packages cached.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
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
  const vite = join(folder, 'node_modules/vite/bin/vite.js');
  execFileSync(process.execPath, [vite, 'build'], { cwd: example.application, stdio: 'pipe' });
}, 300_000);

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
