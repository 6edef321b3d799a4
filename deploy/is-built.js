// Ends with 0 if dist/ is newer than all that it is built from, so that `npm start` need not build again.

import { readdirSync, statSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const timeOf = (name) => statSync(new URL(name, root), { throwIfNoEntry: false })?.mtimeMs;

// Folders too: a file that was removed leaves no other trace. The last file is written by `npm install`.
const inFolder = (folder) => [
  folder,
  ...readdirSync(new URL(folder, root), { recursive: true }).map((name) => `${folder}/${name}`),
];
const sources = [
  ...['src', 'compare/src'].flatMap(inFolder),
  ...['bundle.js', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'node_modules/.package-lock.json'],
];
const built = timeOf('dist/main.js') ?? 0;
const isBuilt = sources.every((name) => (timeOf(name) ?? 0) < built);
if (!isBuilt) console.log('Building gjallar, which takes about 10 seconds.');
process.exitCode = isBuilt ? 0 : 1;
