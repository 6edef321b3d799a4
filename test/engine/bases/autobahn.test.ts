import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import '../../support/long.js';
import { bases, closeApps, start } from './support/bases.js';

/** The program of Autobahn's test suite. It needs Python 2.7: `virtualenv v && v/bin/pip install autobahntestsuite==0.8.2`. */
const { WSTEST } = process.env;
const MAX_MS = 15 * 60_000;
/** All but those that measure speed and those of compression, which take long. */
const cases = { cases: ['*'], 'exclude-cases': ['9.*', '12.*', '13.*'], 'exclude-agent-cases': {} };
const FAILED = ['FAILED', 'WRONG CODE', 'UNCLEAN', 'FAILED BY CLIENT'];

let outdir: string;
afterEach(() => {
  closeApps();
  rmSync(outdir, { recursive: true, force: true });
});

(WSTEST ? test : test.skip).each(bases)(
  'no case of Autobahn’s test suite fails: %s',
  async (_name, base) => {
    const { port } = await start(base, (app) =>
      app.ws('/*', {
        ...{ maxPayload: 2 ** 26, compresses: true },
        message: (webSocket, message, isBinary) => webSocket.send(message, isBinary, true),
      }),
    );
    outdir = mkdtempSync(join(tmpdir(), 'autobahn-'));
    const spec = join(outdir, 'spec.json');
    const servers = [{ agent: 'gjallar', url: `ws://127.0.0.1:${port}/` }];
    writeFileSync(spec, JSON.stringify({ ...cases, outdir, servers }));
    await promisify(execFile)(WSTEST!, ['--mode', 'fuzzingclient', '--spec', spec], { maxBuffer: 2 ** 28 });
    const { gjallar } = JSON.parse(readFileSync(join(outdir, 'index.json'), 'utf8'));
    const results = Object.entries<{ behavior: string; behaviorClose: string }>(gjallar);
    const failed = results.filter(([, seen]) =>
      [seen.behavior, seen.behaviorClose].some((how) => FAILED.includes(how)),
    );
    expect(failed).toEqual([]);
    expect(results.length).toBeGreaterThan(200);
  },
  MAX_MS,
);
