// What docs/guarantees.md promises, put to the test: `npm run torture -- [scenario…] [options]`. See torture/scenarios.js.

import { listed, numberOption, parseArguments, readCommandLine, rejectUnknown, UsageError } from './harness/command.js';
import { record } from './harness/results.js';
import { scenarios } from './torture/scenarios.js';
import { isMet, printFigures } from './torture/support/scenario.js';

const command = { name: 'torture', call: 'npm run torture --' };
const known = Object.keys(scenarios);
const long = known.filter((name) => scenarios[name].isLong);

/** The options of a scenario. Most are numbers, with no more than what they mean. */
const optionsOf = ({ options = {} }) =>
  Object.entries(options).map(([name, one]) => [name, typeof one === 'string' ? { takes: 'n', about: one } : one]);

// The scenario that is named first may have options of its own.
const first = scenarios[process.argv[2]] ?? {};
const ownOptions = optionsOf(first);

const { names, own, ...settings } = await readCommandLine(command, readArguments, usage);
const text = first.answer?.(own);
if (text !== undefined) {
  console.log(text);
  process.exit(0);
}
let failures = 0;
for (const name of names) failures += (await runScenario(name)) ? 0 : 1;
process.exit(failures > 0 ? 1 : 0);

async function runScenario(name) {
  const { about, run } = scenarios[name];
  const { out, help: _, ...options } = settings;
  console.log(`\n${name}: ${about}\n seed ${options.seed}`);
  const started = Date.now();
  try {
    const figures = await run({ ...options, own });
    const ok = figures.every(isMet);
    printFigures(figures);
    const result = { torture: name, ok, seconds: Math.round((Date.now() - started) / 1000), ...options, figures };
    console.log(JSON.stringify(result));
    if (out) record(out, result);
    return ok;
  } catch (error) {
    console.error(error);
    console.log(JSON.stringify({ torture: name, ok: false, ...options, error: String(error) }));
    return false;
  }
}

/** What the scenarios do, and what their options mean to each. */
function usage({ names: chosen }) {
  const sections = chosen.map((name) => {
    const { about, more = '' } = scenarios[name];
    const rows = optionsOf(scenarios[name]).map(([option, { takes, about: meaning }]) => [
      ['  --', option, takes && ` ${takes}`].join(''),
      meaning,
    ]);
    return `  ${name}: ${about}\n${listed(rows)}${more}`;
  });
  return `${command.call} [scenario…] [options]

Tests what docs/guarantees.md promises. Without a name, every scenario but ${long.join(', ')} runs. Needs npm run build.

${sections.join('\n')}

Options:
${listed([
  ['--short', 'the short form that npm run test:night runs'],
  ['--seed n', 'repeat the random choices of an earlier run'],
  ['--times n', 'see above'],
  ['--minutes n', 'see above'],
  ['--out file', 'append the line of JSON with the figures to this file'],
  ['--help', 'show this text; after a scenario, that scenario alone'],
])}

Exit code: 0; 1 when a scenario failed; 2 when the arguments are wrong.`;
}

function readArguments() {
  const { values, positionals } = parseArguments({
    short: { type: 'boolean', default: false },
    seed: { type: 'string' },
    times: { type: 'string' },
    minutes: { type: 'string' },
    out: { type: 'string' },
    ...Object.fromEntries(
      ownOptions.map(([name, { takes, multiple = false }]) => [name, { type: takes ? 'string' : 'boolean', multiple }]),
    ),
  });
  rejectUnknown('scenario', positionals, known);
  const { short, out, help } = values;
  return {
    ...{ short, out, help },
    own: Object.fromEntries(ownOptions.map(([name, option]) => [name, ownValue(values, name, option)])),
    names: positionals.length > 0 ? positionals : known.filter((name) => !long.includes(name)),
    seed: numberOption(values, 'seed') ?? Math.floor(Math.random() * 1e9),
    times: numberOption(values, 'times'),
    minutes: numberOption(values, 'minutes'),
  };
}

/** @throws UsageError */
function ownValue(values, name, { of, takes }) {
  const value = values[name];
  if (!of) return takes === 'n' ? numberOption(values, name) : value;
  if (value === undefined || of.includes(value)) return value;
  const right = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(of);
  throw new UsageError(`--${name} must be ${right}, not "${value}"`);
}
