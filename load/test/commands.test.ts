import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import '../../test/support/long.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = (command: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`load/${command}`, ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

/** Each command with how one runs it, and a name that its usage lists. */
const commands: [string, string, string][] = [
  ['bench.js', 'npm run bench -- [benchmark…] [options]', 'correspondence'],
  ['load.js', 'npm run load -- [scenario…] [--quick]', 'reconnect'],
  ['matrix.js', 'npm run matrix -- [application…] [options]', 'already-listening'],
  ['suites.js', 'npm run suites -- [suite…] --checkout folder [options]', 'engine'],
  ['torture.js', 'npm run torture -- [scenario…] [options]', 'deaths'],
  ['report/index.js', 'npm run bench:report -- [file…] [--out folder]', 'file'],
];

describe.each(commands)('%s', (command, call, name) => {
  test('prints its usage with --help', () => {
    const { status, stdout, stderr } = run(command, '--help');
    expect({ status, stderr, call: stdout.split('\n', 1)[0] }).toEqual({ status: 0, stderr: '', call });
    expect(stdout).toMatch(new RegExp(`^  ${name}[ :]`, 'm'));
    expect(stdout).not.toContain('undefined');
  });

  test('rejects an unknown option in one line', () => {
    const { status, stdout, stderr } = run(command, '--fast');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^[a-z:]+: Unknown option '--fast'.*\n$/);
  });
});

test.each([
  ['bench.js', ['chess'], 'bench: unknown benchmark: chess.'],
  ['bench.js', ['echo', '--peers', 'uws,pigeon'], 'bench: unknown peer: pigeon.'],
  ['bench.js', ['echo', '--cell', 'of the monks'], 'bench: no cell of echo contains "of the monks".'],
  ['bench.js', ['chess', '--against', 'HEAD'], 'bench: unknown figure: chess.'],
  ['bench.js', ['--against', 'no-such-branch'], 'bench: --against: there is no commit "no-such-branch".'],
  ['load.js', ['chat', 'chess', 'toString'], 'load: unknown scenario: chess, toString.'],
  ['matrix.js', ['chess'], 'matrix: unknown application: chess.'],
  ['torture.js', ['chess'], 'torture: unknown scenario: chess.'],
  ['torture.js', ['deaths', '--workers', '5'], 'torture: --workers must be 2, 3 or 4, not "5".'],
  ['torture.js', ['deploys', '--recovery', 'maybe'], 'torture: --recovery must be off or on, not "maybe".'],
  ['suites.js', ['chess', '--checkout', '/nowhere'], 'suites: unknown suite: chess.'],
  ['suites.js', [], 'suites: --checkout is missing.'],
  ['suites.js', ['--checkout', '/nowhere'], 'suites: /nowhere has no docs/engine.io-protocol/v4-test-suite.'],
  ['torture.js', ['faults', '--times', 'often'], 'torture: --times must be a number, not "often".'],
  ['../deploy/check/index.mjs', ['chess'], 'unknown: chess; there are prometheus, '],
])('%s %j says what is wrong', (command, args, message) => {
  const { status, stdout, stderr } = run(command, ...args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test('the usage of one scenario leaves out the others', () => {
  const { stdout } = run('torture.js', 'faults', '--help');
  expect(stdout).toContain('  faults: ');
  expect(stdout).not.toContain('  deaths: ');
});
