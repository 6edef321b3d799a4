import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const torture = fileURLToPath(new URL('../../load/torture.js', import.meta.url));

/** Runs the short form of a scenario, which must find nothing. Resolves with its figures. */
async function shortForm(scenario: string): Promise<(name: string) => number | undefined> {
  const child = spawn(process.execPath, [torture, scenario, '--short'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  // The output has the seed, and what was found.
  expect(code === 0 ? '' : output).toBe('');
  const { figures } = JSON.parse(output.trim().split('\n').at(-1)!) as { figures: { name: string; value: number }[] };
  return (name) => figures.find((figure) => figure.name === name)?.value;
}

test('thousands of bad inputs get the right answers, and disturb no other client', async () => {
  const figure = await shortForm('fuzz');
  expect(figure('inputs')).toBeGreaterThan(3_900);
  expect(figure('messages of other clients')).toBeGreaterThan(20);
}, 120_000);
