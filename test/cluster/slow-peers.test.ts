import { Writable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { SlowPeerDetector } from '../../src/cluster/mesh/slow-peers.js';
import { until } from '../support/until.js';

const MEGABYTE = 1024 * 1024;

/** A link whose other end reads when it is told to. */
function linkWith(bytes: number) {
  let read: (() => void) | undefined;
  const link = new Writable({
    highWaterMark: MEGABYTE,
    write: (_chunk, _encoding, done) => {
      read = done;
    },
  });
  for (let written = 0; written < bytes; written += MEGABYTE) link.write(Buffer.alloc(MEGABYTE));
  return { link, read: () => read?.() };
}

test('a worker that reads a burst slowly is not given up, one that does not read is', async () => {
  const stuck: Writable[] = [];
  const detector = new SlowPeerDetector<Writable>((link) => stuck.push(link));
  const slow = linkWith(100 * MEGABYTE);
  const still = linkWith(100 * MEGABYTE);
  // Between two turns of the detector, it reads a megabyte.
  const timer = setInterval(slow.read, 100);
  try {
    for (const { link } of [slow, still]) detector.check(link);
    await until(() => stuck.length > 0);
    expect(slow.link.writableLength).toBeGreaterThan(64 * MEGABYTE);
    expect(stuck.map((link) => (link === still.link ? 'still' : 'slow'))).toEqual(['still']);
  } finally {
    clearInterval(timer);
    detector.close();
  }
});
