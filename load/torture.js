// What docs/guarantees.md promises, put to the test: `npm run torture -- [scenario…] [options]`. See torture/scenarios.js.

import { listed, numberOption, parseArguments, readCommandLine, rejectUnknown } from './harness/command.js';
import { record } from './harness/results.js';
import { scenarios } from './torture/scenarios.js';
import { isMet, printFigures } from './torture/support/scenario.js';

const command = { name: 'torture', call: 'npm run torture --' };
const known = Object.keys(scenarios);
const long = known.filter((name) => scenarios[name].isLong);

// The scenario that is named first may have options of its own.
const { parameters = {}, answer, check } = scenarios[process.argv[2]] ?? {};

const { names, own, ...settings } = await readCommandLine(command, readArguments, usage);
const text = answer?.(own);
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
    const { about, options, more = '' } = scenarios[name];
    const rows = listed(Object.entries(options).map(([option, meaning]) => [`  --${option}`, meaning]));
    return `  ${name}: ${about}\n${rows}${more}`;
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
    ...parameters,
  });
  rejectUnknown('scenario', positionals, known);
  check?.(values);
  const { short, out, help } = values;
  return {
    ...{ short, out, help },
    own: Object.fromEntries(Object.keys(parameters).map((name) => [name, values[name]])),
    names: positionals.length > 0 ? positionals : known.filter((name) => !long.includes(name)),
    seed: numberOption(values, 'seed') ?? Math.floor(Math.random() * 1e9),
    times: numberOption(values, 'times'),
    minutes: numberOption(values, 'minutes'),
  };
}
