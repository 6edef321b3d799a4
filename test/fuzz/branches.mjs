// Fuzzes what reads the input of others, guided by the branches that inputs reach: `node test/fuzz/branches.mjs`. Fails if a
// target fails, or if fewer of the readers' branches are reached than they should. TIMES: changed inputs of each target.
// RECORD=1 adds the inputs that reach something new to the corpus.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LEAST = 0.95;
/** The readers, and before what they end in files that have something else, too. */
const READERS = {
  'engine/parser/parser.ts': undefined,
  'engine/parser/binary-packet.ts': undefined,
  'engine/protocol/codec-v3.ts': undefined,
  'engine/protocol/codec-v4.ts': undefined,
  'engine/node/frame-reader.ts': undefined,
  'engine/node/request.ts': undefined,
  'engine/http/request.ts': undefined,
  'cluster/wire/envelope.ts': undefined,
  'cluster/wire/stream.ts': undefined,
  'cluster/wire/broadcast.ts': undefined,
  'cluster/wire/message.ts': undefined,
  'cluster/wire/checks.ts': undefined,
  'cluster/wire/hub-frame.ts': undefined,
  'cluster/relay/messages.ts': undefined,
  'features/history/page.ts': undefined,
  'features/history/durable/requests.ts': 'interface Rooms',
};

const folder = mkdtempSync(join(tmpdir(), 'gjallar-fuzz-'));
const { status } = spawnSync(
  process.execPath,
  [
    ...['test/setup/run.mjs', 'test/fuzz/guided.test.ts', '--coverage', '--coverageProvider=babel'],
    ...['--coverageReporters=json', `--coverageDirectory=${folder}`],
    ...Object.keys(READERS).map((file) => `--collectCoverageFrom=src/${file}`),
  ],
  { stdio: 'inherit', env: { TIMES: '20000', ...process.env } },
);
const coverage = JSON.parse(readFileSync(join(folder, 'coverage-final.json'), 'utf8'));
rmSync(folder, { recursive: true });

let reached = 0;
let all = 0;
for (const [file, end] of Object.entries(READERS)) {
  const path = join(process.cwd(), 'src', file);
  const { b, branchMap } = coverage[path];
  const lines = readFileSync(path, 'utf8').split('\n');
  const last = end === undefined ? lines.length : lines.findIndex((line) => line.includes(end)) + 1;
  for (const [id, counts] of Object.entries(b)) {
    const { line } = branchMap[id].loc.start;
    if (line > last) continue;
    all += counts.length;
    reached += counts.filter((count) => count > 0).length;
    if (counts.includes(0)) console.log(`${file}:${line}: a branch was not reached`);
  }
}
console.log(`${reached} of ${all} branches were reached (${((100 * reached) / all).toFixed(1)}%).`);
process.exit(status !== 0 || reached < LEAST * all ? 1 : 0);
