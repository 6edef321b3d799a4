import { fileURLToPath } from 'node:url';

/** Options of jest whose value is the next argument. */
const VALUED = [
  '-t',
  '--testNamePattern',
  '-w',
  '--maxWorkers',
  '--seed',
  '--shard',
  '-c',
  '--config',
  '--testTimeout',
];

/**
 * The arguments of `npm test`: options of its own, paths, and the rest, which is for jest.
 * @param {string[]} args
 */
export function parseArguments(args) {
  const parsed = { all: false, install: false, tiers: [], outputFile: undefined, paths: [], jest: [] };
  for (let index = 0; index < args.length; index++) {
    const arg = args[index];
    const [name, value] = arg.split(/=(.*)/s);
    if (arg === '--all') parsed.all = true;
    else if (arg === '--install') parsed.install = true;
    else if (name === '--tier') parsed.tiers.push(value);
    else if (name === '--outputFile') parsed.outputFile = value;
    else if (VALUED.includes(arg)) parsed.jest.push(arg, args[++index]);
    else if (arg.startsWith('-')) parsed.jest.push(arg);
    else parsed.paths.push(arg);
  }
  return parsed;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The test files that paths mean, as jest understands them: patterns, of which one must fit. */
export function matching(tests, paths) {
  const patterns = paths.map((path) => new RegExp(path.replace(root, '').replace(/^\.\//, ''), 'i'));
  return tests.filter((test) => patterns.some((pattern) => pattern.test(`/${test}`) || pattern.test(test)));
}
