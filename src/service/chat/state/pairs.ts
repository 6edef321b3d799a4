import type { Chunk } from '../../../features/state/members/format.js';

/** The changes of a chunk as JSON, separated by commas: `["key",value]`, or `["key"]` for a deleted key. */
export function pairsOf({ entries }: Chunk): string {
  return entries
    .map(({ head, value }) => {
      if (value === undefined) return `${head}]`;
      // Over HTTP, no bytes can be set.
      return `${head},${typeof value === 'string' ? value : JSON.stringify(value.toString('base64'))}]`;
    })
    .join(',');
}
