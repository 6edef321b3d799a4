import { expect } from '@jest/globals';
import type { RunningApplication } from './application.js';

/** The clients of all workers by their place, as the metrics say. */
export async function placesOf({ admin }: RunningApplication, by = 'room'): Promise<Record<string, number>> {
  const text = await (await fetch(`${admin}/metrics`)).text();
  const counts: Record<string, number> = {};
  for (const [, labels, count] of text.matchAll(/^gjallar_placed_clients\{(.*)\} (\d+)$/gm)) {
    expect(labels).toContain(`by="${by}"`);
    const place = /place="(\w+)"/.exec(labels!)![1]!;
    counts[place] = (counts[place] ?? 0) + Number(count);
  }
  return counts;
}
