import { isDeepStrictEqual } from 'node:util';

/**
 * The places in which two records differ, as lines.
 * @param {unknown} expected
 * @param {unknown} found
 * @returns {string[]}
 */
export function differences(expected, found, path = '') {
  if (isDeepStrictEqual(expected, found)) return [];
  if (!isObject(expected) || !isObject(found) || Array.isArray(expected) !== Array.isArray(found)) {
    return [`${path || 'result'}: ${text(found)} instead of ${text(expected)}`];
  }
  const keys = new Set([...Object.keys(expected), ...Object.keys(found)]);
  return [...keys].flatMap((key) => differences(expected[key], found[key], path ? `${path}.${key}` : key));
}

/** How many single values a record has. */
export function valuesIn(record) {
  return isObject(record) ? Object.values(record).reduce((sum, one) => sum + valuesIn(one), 0) : 1;
}

const isObject = (value) => typeof value === 'object' && value !== null;

function text(value) {
  const json = JSON.stringify(value) ?? 'nothing';
  return json.length > 200 ? `${json.slice(0, 200)}…` : json;
}
