import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { root } from '../io/server/support/package.js';
import { examples } from './support/example.js';

describe.each(examples)('the example %s', (name) => {
  const read = (file: string) => readFileSync(join(root, 'examples', name, file), 'utf8');

  test('is named, private, and depends on versions that the tests have', () => {
    const {
      name: full,
      private: isPrivate,
      dependencies = {},
      devDependencies = {},
    } = JSON.parse(read('package.json'));
    expect([full, isPrivate]).toEqual([`gjallar-example-${name}`, true]);
    const here = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const load = JSON.parse(readFileSync(join(root, 'load/package.json'), 'utf8'));
    const service = JSON.parse(readFileSync(join(root, 'deploy/service/package.json'), 'utf8'));
    // `npm run matrix -- next-example` installs them from the example itself, at night, and so does react.test.ts.
    const { next, react, 'react-dom': reactDom } = dependencies as Record<string, string>;
    const tested = {
      ...(next && { next }),
      ...(react && { react, 'react-dom': reactDom }),
      ...(name === 'react' && devDependencies),
      ...load.devDependencies,
      ...service.dependencies,
      ...here.devDependencies,
      ...here.dependencies,
      gjallar: 'file:../..',
    };
    expect(tested).toMatchObject({ ...dependencies, ...devDependencies });
  });

  test('has a README with its title and the commands', () => {
    const readme = read('README.md');
    expect(readme).toMatch(/^# \S/);
    expect(readme).toMatch(/npm (install|start)/);
  });
});
