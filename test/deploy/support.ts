import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { allOptions } from '../../src/host/config/options.js';
import { unknownVariables } from '../../src/host/config/unknown.js';

export const fileOf = (path: string) => new URL(`../../${path}`, import.meta.url);
export const read = (path: string) => readFileSync(fileOf(path), 'utf8');

/** The objects of a file in YAML, which are checked by what the tests expect of them. */
// biome-ignore lint/suspicious/noExplicitAny: the files have no types
export const objectsIn = (path: string): any[] => parseAllDocuments(read(path)).map((document) => document.toJS());

const secrets = Object.values(allOptions).flatMap(({ name, isSecret }) => (isSecret ? [name] : []));
const known = new Set([...Object.values(allOptions).map(({ name }) => name), ...secrets.map((name) => `${name}_FILE`)]);

/** The variables that the server would ignore, and those that carry a secret although they could name a file. */
export function wrongVariables(environment: Record<string, string>): string[] {
  const names = Object.keys(environment);
  return [
    ...names.filter((name) => !known.has(name) || secrets.includes(name)),
    ...unknownVariables(environment, false).map(({ name }) => name),
  ];
}
