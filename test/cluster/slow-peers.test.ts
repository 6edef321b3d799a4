import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { SlowPeerDetector } from '../../src/cluster/mesh/slow-peers.js';
import { atEnd } from '../support/ends.js';
import { temporaryFolder } from '../support/folder.js';
import { until, whileActing } from '../support/until.js';

const MEGABYTE = 1024 * 1024;

test('a worker that reads a burst slowly is not given up, one that does not read is', async () => {
  const directory = temporaryFolder();
  const server = createServer({ pauseOnConnect: true }).listen(join(directory, 'links'));
  const stuck: Socket[] = [];
  const detector = new SlowPeerDetector((link) => stuck.push(link));
  /** A link with a burst in one write, and its other end. */
  const linkWith = async (megabytes: number) => {
    const link = createConnection(join(directory, 'links'));
    const [other] = (await once(server, 'connection')) as [Socket];
    link.cork();
    for (let written = 0; written < megabytes; written++) link.write(Buffer.alloc(MEGABYTE));
    link.uncork();
    return { link, other };
  };
  const slow = await linkWith(100);
  const still = await linkWith(100);
  let got = 0;
  slow.other.on('data', ({ length }) => {
    got += length;
    slow.other.pause();
  });
  atEnd(async () => {
    detector.close();
    for (const { link, other } of [slow, still]) for (const end of [link, other]) end.destroy();
    server.close();
  });
  for (const { link } of [slow, still]) detector.check(link);
  // Between two turns of the detector, it reads a little.
  await whileActing(
    20,
    () => slow.other.resume(),
    until(() => stuck.length > 0),
  );
  expect(got).toBeGreaterThan(0);
  expect(slow.link.writableLength).toBeGreaterThan(64 * MEGABYTE);
  expect(stuck.map((link) => (link === still.link ? 'still' : 'slow'))).toEqual(['still']);
});
