import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

/** The test files, as paths under test/, that are among `files` or import one of them, directly or not. */
export function dependentsOf(files) {
  const wanted = new Set(files.map((file) => join(root, file)));
  const tests = readdirSync(root, { recursive: true }).filter((file) => file.endsWith('.test.ts'));
  return tests.filter((test) => reaches(join(root, test), wanted, new Set())).sort();
}

function reaches(file, wanted, seen) {
  if (wanted.has(file)) return true;
  if (seen.has(file)) return false;
  seen.add(file);
  return importsOf(file).some((imported) => reaches(imported, wanted, seen));
}

/** The files of test/ that a file imports. */
function importsOf(file) {
  const found = readFileSync(file, 'utf8').matchAll(/(?:\bfrom |\bimport |\bimport\()'(\.{1,2}\/[^']+)'/g);
  return Array.from(found, ([, path]) => join(dirname(file), path.replace(/\.js$/, '.ts'))).filter(
    (path) => !relative(root, path).startsWith('..') && existsSync(path),
  );
}
