import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

const TESTS = ['test/', 'compare/test/', 'nats/test/'];
/** Where the tests and what they import are. What they start by its path is not among it. */
const FOLDERS = [...TESTS, 'load/'];

const imports = new Map();

/** All test files, as paths under the project. */
export function allTests() {
  return TESTS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
      .map((file) => folder + file),
  ).sort();
}

/** Whether a file, or one that it imports, directly or not, is such a file. All are paths under the project. */
export function reaches(file, fits, seen = new Set()) {
  if (fits(file)) return true;
  seen.add(file);
  return importsOf(file).some((imported) => !seen.has(imported) && reaches(imported, fits, seen));
}

const STARTING = /^import (?!type )[^;]*?from 'node:(?:child_process|cluster)';/gm;

/** Whether a file itself can start a process. */
export function canStartProcesses(file) {
  const found = readFileSync(join(root, file), 'utf8').match(STARTING) ?? [];
  return found.some((statement) => /[{,]\s*(?!type )\w+/.test(statement) || /^import \w/.test(statement));
}

const TYPES_ONLY = /^(?:import|export) type [^;]*;/gm;

/** The files of tests and their helpers that a file imports, but for types alone. */
function importsOf(file) {
  let found = imports.get(file);
  if (!found) {
    const text = readFileSync(join(root, file), 'utf8').replace(TYPES_ONLY, '');
    const paths = Array.from(text.matchAll(/(?:\bfrom |\bimport |\bimport\()'(\.{1,2}\/[^']+)'/g), ([, path]) =>
      relative(root, join(root, dirname(file), path)),
    );
    found = paths.flatMap((path) => sourceOf(path) ?? []);
    imports.set(file, found);
  }
  return found;
}

/** The file that is meant by the path of an import. */
function sourceOf(path) {
  if (!FOLDERS.some((folder) => path.startsWith(folder))) return undefined;
  return [path.replace(/\.js$/, '.ts'), path].find((each) => existsSync(join(root, each)));
}
