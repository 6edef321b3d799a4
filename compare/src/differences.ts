import { isDeepStrictEqual } from 'node:util';
import { NO_RESPONSE } from './observation.js';
import type { Observed } from './player.js';

export interface Difference {
  readonly where: string;
  readonly stock: unknown;
  readonly gjallar: unknown;
}

export interface Comparison {
  readonly differences: Difference[];
  /** How many single values were compared. */
  readonly compared: number;
  /** Where two runs on stock differ, so that nothing is compared. */
  readonly variable: string[];
}

/**
 * Compares what clients saw of gjallar with what they saw of stock Socket.IO. What already differs between two runs on
 * stock says nothing, and is left out.
 */
export function compareRuns(stock: Observed, again: Observed, gjallar: Observed): Comparison {
  const found = { differences: [] as Difference[], compared: 0, variable: [] as string[] };
  for (const key of new Set([stock, again, gjallar].flatMap(Object.keys))) {
    const [a, b, g] = [stock[key], again[key], gjallar[key]];
    if (isUnanswered(a) && isUnanswered(b)) continue;
    if (isList(a) && isList(b) && isList(g)) compareLists(key, a, b, g, found);
    else compareValues(key, a, b, g, found);
  }
  return found;
}

/** A bare http.Server never answers a request that is not for Socket.IO. gjallar answers 404, so that nobody waits. */
const isUnanswered = (value: unknown) => isObject(value) && (value as { error?: unknown }).error === NO_RESPONSE;

/** Entries that arrived one after the other. */
type List = readonly unknown[][];
type Found = { differences: Difference[]; compared: number; variable: string[] };

const isList = (value: unknown): value is List => Array.isArray(value) && value.every(Array.isArray);

function compareLists(where: string, a: List, b: List, g: List, found: Found): void {
  const uneven = new Set<string>();
  for (const title of new Set([a, b, g].flatMap(titles))) {
    const [first, second, own] = [a, b, g].map((list) => titles(list).filter((one) => one === title).length);
    if (first !== second || first !== own) uneven.add(title);
    found.compared++;
    if (own! >= Math.min(first!, second!) && own! <= Math.max(first!, second!)) continue;
    found.differences.push({ where: `${where}: number of ${title}`, stock: first, gjallar: own });
  }
  // The order and the values of what all three have.
  const even = (list: List) => list.filter((entry) => !uneven.has(titleOf(entry)));
  const [x, y, z] = [even(a), even(b), even(g)];
  if (!isDeepStrictEqual(titles(x), titles(y))) {
    found.variable.push(`${where}: order`);
    return;
  }
  if (isDeepStrictEqual(titles(x), titles(z))) return compareValues(where, x, y, z, found);
  const at = x.findIndex((entry, index) => titleOf(entry) !== titleOf(z[index]!));
  found.differences.push({
    where: `${where}: order, at number ${at + 1}`,
    stock: titleOf(x[at]!),
    gjallar: titleOf(z[at]!),
  });
}

/** What an entry is, without the values of an event or an acknowledgement. */
function titleOf([kind, name]: readonly unknown[]): string {
  return kind === 'connect'
    ? 'connect'
    : `${kind}${kind === 'event' || kind === 'acknowledgement of' ? ' ' : ': '}${text(name)}`;
}

const titles = (list: List) => list.map(titleOf);

function compareValues(where: string, a: unknown, b: unknown, g: unknown, found: Found): void {
  const all = [a, b, g];
  if (all.every(isObject) && all.every((one) => Array.isArray(one) === Array.isArray(a))) {
    const sizes = new Set(all.map((one) => (Array.isArray(one) ? one.length : 0)));
    if (sizes.size === 1) {
      const keys = new Set(all.flatMap((one) => Object.keys(one as object)));
      for (const key of keys) {
        const [x, y, z] = all.map((one) => (one as Record<string, unknown>)[key]);
        compareValues(`${where}: ${nameOf(a, key)}`, x, y, z, found);
      }
      return;
    }
  }
  if (!isDeepStrictEqual(a, b)) return void found.variable.push(where);
  found.compared++;
  if (!isDeepStrictEqual(a, g)) found.differences.push({ where, stock: a ?? null, gjallar: g ?? null });
}

const nameOf = (parent: unknown, key: string) => (Array.isArray(parent) ? `${Number(key) + 1}` : key);
const isObject = (value: unknown) => typeof value === 'object' && value !== null;
const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
