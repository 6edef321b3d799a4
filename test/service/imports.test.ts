import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { imports } from '../../docs/site/house.js';

/**
 * What the chat service uses of the rest of gjallar that other applications cannot, and why. Take out what it does without,
 * and add nothing: what it needs, others need too, so export it from a public module.
 */
const exceptions: Readonly<Record<string, string>> = {
  'base/owner.ts': 'reports failures in the background',
  'base/package.ts': 'finds the files of the page and of the API, which are in the package',
  'engine/top-keys.ts': 'the users that send the most, which the operator sees',
  'features/history/files.ts': 'makes the file of revoked tokens, as the history makes its own',
  'host/index.ts': 'the host starts the chat as its own application, with all of its options',
};

/** The files of the entries of package.json. The errors are public by `GjallarError`. */
const publicModules = new Set([...entries(), 'base/errors.ts']);

function entries(): string[] {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return Array.from(text.matchAll(/"default": "\.\/dist\/(.*)\.js"/g), ([, path]) => `${path}.ts`);
}

test('the chat service uses public modules, but for a list of exceptions that only shrinks', () => {
  const used = new Set<string>();
  for (const [file, found] of imports) {
    if (!file.startsWith('service/')) continue;
    for (const { path } of found) if (!path.startsWith('service/') && !publicModules.has(path)) used.add(path);
  }
  expect([...used].sort()).toEqual(Object.keys(exceptions).sort());
});
