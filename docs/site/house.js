// The picture in docs/internals/house.md, made from the imports of src/. `node docs/site/house.js` writes it again.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../../src', import.meta.url));
const page = fileURLToPath(new URL('../internals/house.md', import.meta.url));

/** The rooms, in the order in which they may be imported: each knows those before it. */
export const rooms = ['base', 'engine', 'io', 'cluster', 'features', 'host', 'service', 'cli'];

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

/**
 * The imports of each file: the path from src/, and whether the imported module is loaded with the file, which types and
 * `import()` are not.
 * @type {ReadonlyMap<string, { path: string, isLoaded: boolean }[]>}
 */
export const imports = new Map(
  files.map((file) => {
    const text = readFileSync(join(source, file), 'utf8');
    const statements = text.matchAll(/^(?:import|export)\s([^'";]*?\sfrom\s+)?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm);
    return [
      file,
      [...statements].map(([statement, names = '', from, dynamic]) => ({
        isLoaded:
          dynamic === undefined &&
          !/^(?:import|export) type\b/.test(statement) &&
          !/^\{(\s*type\s+[^,}]+,?)+\s*\}/.test(names),
        path: relative(source, join(source, dirname(file), from ?? dynamic)).replace(/\.js$/, '.ts'),
      })),
    ];
  }),
);

/**
 * The number of the room of a file; that of the files beside the rooms is the last.
 * @param {string} file
 */
export const roomOf = (file) => (file.includes(sep) ? rooms.indexOf(file.split(sep)[0]) : rooms.length);

/** The picture: a row for each room, a dot for each room that it loads. */
export function picture() {
  const rows = [...rooms.keys()].map((room) => {
    const loaded = new Set();
    for (const [file, found] of imports) {
      if (roomOf(file) !== room) continue;
      for (const { path, isLoaded } of found) if (isLoaded) loaded.add(roomOf(path));
    }
    const cells = rooms.slice(0, room).map((name, other) => (loaded.has(other) ? '•' : ' ').padStart(name.length));
    return `${rooms[room].padEnd(10)}${cells.join('  ')}`.trimEnd();
  });
  return [`imports   ${rooms.slice(0, -1).join('  ')}`, ...rows].join('\n');
}

const picturePattern = /(?<=<!-- picture -->\n```\n)[^`]*(?=\n```)/;

/** The picture that the page has. */
export const pictureOfPage = () => picturePattern.exec(readFileSync(page, 'utf8'))?.[0];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(page, readFileSync(page, 'utf8').replace(picturePattern, picture()));
}
