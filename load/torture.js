// What the server promises for bad days, put to the test: `npm run torture -- [name…] [--short] [--seed n] [--times n]
// [--minutes n] [--out file]`. Each scenario is a file in torture/ that exports what `Scenario` in torture/support/
// scenario.js says.

import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { record } from './harness/results.js';
import { isMet, printFigures } from './torture/support/scenario.js';

const folder = new URL('torture/', import.meta.url);
const known = readdirSync(folder)
  .filter((name) => name.endsWith('.js'))
  .map((name) => name.slice(0, -3));

const { names, settings } = await readArguments();
let failures = 0;
for (const name of names) failures += (await runScenario(name)) ? 0 : 1;
process.exit(failures > 0 ? 1 : 0);

async function runScenario(name) {
  const { about, run } = await import(new URL(`${name}.js`, folder).href);
  const { out, ...options } = settings;
  console.log(`\n${name}: ${about}\n seed ${options.seed}`);
  const started = Date.now();
  try {
    const figures = await run(options);
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

async function readArguments() {
  // The scenario that is named first may have options of its own.
  const first = process.argv[2];
  const { parameters, answer } = known.includes(first) ? await import(new URL(`${first}.js`, folder).href) : {};
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
      times: { type: 'string' },
      minutes: { type: 'string' },
      out: { type: 'string' },
      ...parameters,
    },
  });
  const { short, seed, times, minutes, out, ...own } = values;
  const text = answer?.(own);
  if (text !== undefined) {
    console.log(text);
    process.exit(0);
  }
  const numbers = { seed: Number(seed), times: times && Number(times), minutes: minutes && Number(minutes) };
  const unknown = [
    ...positionals.filter((name) => !known.includes(name)),
    ...Object.entries(numbers).flatMap(([name, value]) => (Number.isNaN(value) ? `--${name} ${values[name]}` : [])),
  ];
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(', ')}\nscenarios: ${known.join(' ')}`);
    process.exit(2);
  }
  return {
    names: positionals.length > 0 ? positionals : known,
    settings: { short, ...numbers, ...(parameters && { own }), out },
  };
}
