import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

/** The C library of each release of Debian that has one for the newest binaries of uWebSockets.js. */
const GLIBC: Record<string, number> = { trixie: 2.41 };

// `npm run deploy:check image` puts the image's contents together and starts them.
test('the image has a Node.js with a binary, on one release of Debian that is new enough for it', () => {
  const [[, major, release], [, base]] = [
    /^FROM node:(\d+)-(\w+)-slim AS build$/m.exec(read('Dockerfile')) ?? [],
    /^FROM debian:(\w+)-slim$/m.exec(read('Dockerfile')) ?? [],
  ] as const;
  const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: object };
  expect(Object.keys(optionalDependencies)).toContain(`@uwsjs/linux-x64-${major}`);
  expect(base).toBe(release);
  expect(GLIBC[base!]).toBeGreaterThanOrEqual(2.38);
});

test('the build context has every file that the image copies', () => {
  const allowed = read('.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) =>
    paths!.split(' '),
  );
  expect(copied.length).toBeGreaterThan(5);
  expect(copied.filter((path) => !allowed.some((one) => one === path || one.startsWith(`${path}/`)))).toEqual([]);
});
