import { expect, test } from '@jest/globals';
import { scenarios, scriptOf } from '../../artillery/scenarios.js';

interface Step {
  function?: string;
  loop?: Step[];
}
const functionsOf = (steps: Step[]): string[] =>
  steps.flatMap((step) => [...(step.function ? [step.function] : []), ...functionsOf(step.loop ?? [])]);

test.each(Object.keys(scenarios))('%s names steps that there are, and as many clients as arrive', async (name) => {
  for (const quick of [false, true]) {
    const { config, scenarios: played } = scriptOf(name, quick);
    expect(played).toMatchObject([{ engine: 'socketio' }]);
    // Artillery takes a processor for an ES module by this ending alone.
    expect(config.processor).toMatch(/\.mjs$/);
    const steps = (await import(config.processor)) as Record<string, unknown>;
    expect(Object.keys(steps).sort()).toEqual([...new Set(functionsOf(played[0]!.flow))].sort());
    for (const step of Object.values(steps)) expect(step).toBeInstanceOf(Function);
    expect(config.phases).toEqual([{ duration: expect.any(Number), arrivalCount: config.variables.clients }]);
    expect(config.phases[0]!.duration).toBeLessThanOrEqual(20);
  }
});

test.each(Object.keys(scenarios))('%s has thresholds, that nobody fails among them', (name) => {
  const conditions = scriptOf(name, false).config.plugins.ensure.conditions.map(({ expression }) => expression);
  expect(conditions.slice(0, 2)).toEqual(['vusers.failed == 0', 'vusers.completed == vusers.created']);
  expect(conditions.length).toBeGreaterThan(2);
});
