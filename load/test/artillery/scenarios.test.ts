import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';

const folder = new URL('../../artillery/scenarios/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.yml'));

interface Step {
  function?: string;
  loop?: Step[];
}

interface Settings {
  phases: { duration: number; arrivalCount: number }[];
  variables: { clients?: number };
}

interface Script {
  config: Settings & {
    processor: string;
    plugins: { ensure: { conditions: { expression: string }[] } };
    environments: { quick: Settings };
  };
  scenarios: { engine: string; flow: Step[] }[];
}

const functionsOf = (steps: Step[]): string[] =>
  steps.flatMap((step) => [...(step.function ? [step.function] : []), ...functionsOf(step.loop ?? [])]);

test.each(files)('%s names steps that there are, and as many clients as arrive', async (file) => {
  const { config, scenarios } = parse(readFileSync(new URL(file, folder), 'utf8')) as Script;
  expect(scenarios).toMatchObject([{ engine: 'socketio' }]);
  // Artillery takes a processor for an ES module by this ending alone.
  expect(config.processor).toMatch(/\.mjs$/);
  const steps = (await import(new URL(config.processor, folder).href)) as Record<string, unknown>;
  expect(Object.keys(steps).sort()).toEqual([...new Set(functionsOf(scenarios[0]!.flow))].sort());
  for (const step of Object.values(steps)) expect(step).toBeInstanceOf(Function);

  const { quick } = config.environments;
  for (const { phases, variables } of [config, quick]) {
    // Of one phase with a count, artillery plays all users in one thread: they meet there.
    const [phase] = phases.map((part, i) => ({ ...config.phases[i], ...part }));
    expect(phases).toHaveLength(1);
    expect(phase).toEqual({ duration: expect.any(Number), arrivalCount: expect.any(Number) });
    expect(phase!.duration).toBeLessThanOrEqual(20);
    const { clients } = { ...config.variables, ...variables };
    if (clients !== undefined) expect(clients).toBe(phase!.arrivalCount);
  }
});

test.each(files)('%s has thresholds, that nobody fails among them', (file) => {
  const { config } = parse(readFileSync(new URL(file, folder), 'utf8')) as Script;
  const conditions = config.plugins.ensure.conditions.map(({ expression }) => expression);
  expect(conditions.slice(0, 2)).toEqual(['vusers.failed == 0', 'vusers.completed == vusers.created']);
  expect(conditions.length).toBeGreaterThan(2);
});
