import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { Server } from '../../../src/index.js';
import { Application } from '../sequences/application.js';
import { SequenceClient } from '../sequences/client.js';
import { type Step, sequenceOf } from '../sequences/plan.js';
import { closeAll, run } from '../support/servers.js';
import '../../support/long.js';

// SEQUENCES=10000 npm test -- test/server/http/sequences.test.ts
const COUNT = Number(process.env.SEQUENCES ?? 150);
const SEED = Number(process.env.SEED ?? 20261123);
/**
 * How many of 100 sequences node:http itself may break off. Node 24 and late releases of Node 22 close most connections
 * whose body the application reads in part.
 */
const MAX_BROKEN = Number(process.versions.node.split('.', 1)[0]) < 22 ? 1 : 10;
/** Sequences that run at the same time: pausing one connection must not disturb another. */
const AT_ONCE = 8;

afterEach(closeAll);

test(
  `${COUNT} sequences of requests on one connection have the outcomes of node:http, with seed ${SEED}`,
  async () => {
    const model = new Application();
    const plain = createServer(model.listener);
    const listening = new Promise<void>((resolve) => void plain.listen(0, '127.0.0.1', resolve));
    await listening;
    const application = new Application();
    const { port } = await run(Server, application.listener);
    const faults: unknown[] = [];
    let next = 0;
    let broken = 0;
    const work = async () => {
      while (next < COUNT && faults.length === 0) {
        const seed = SEED + next++;
        const steps = sequenceOf(seed);
        const wanted = await outcomesOf((plain.address() as AddressInfo).port, model, seed, steps);
        const got = await outcomesOf(port, application, seed, steps);
        if (wanted.error) broken++;
        if (!isAsGood(got, wanted)) faults.push({ seed, ...difference(steps, got, wanted) });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    plain.closeAllConnections();
    await new Promise((resolve) => plain.close(resolve));
    expect(faults).toEqual([]);
    expect(broken).toBeLessThan(1 + (MAX_BROKEN * COUNT) / 100);
  },
  60_000 + COUNT * 1000,
);

async function outcomesOf(
  port: number,
  application: Application,
  seed: number,
  steps: readonly Step[],
): Promise<Result> {
  const client = new SequenceClient(port, application, String(seed));
  try {
    return { outcomes: await client.run(steps) };
  } catch (error) {
    return { outcomes: client.outcomes, error: (error as Error).message };
  }
}

/**
 * node:http now and then resets a connection whose client still sends a body that the application does not read. Then no
 * response to the next request is required either.
 */
function isAsGood(got: Result, wanted: Result): boolean {
  const outcomes = wanted.error ? got.outcomes.slice(0, wanted.outcomes.length) : got.outcomes;
  return JSON.stringify(outcomes) === JSON.stringify(wanted.outcomes) && (!got.error || Boolean(wanted.error));
}

/** The first request whose outcome differs. */
function difference(steps: readonly Step[], got: Result, wanted: Result): object {
  const at = got.outcomes.findIndex((one, index) => JSON.stringify(one) !== JSON.stringify(wanted.outcomes[index]));
  const index = at === -1 ? got.outcomes.length : at;
  const text = (value: unknown) => JSON.stringify(value)?.slice(0, 300);
  return {
    steps: steps.slice(0, index + 1).map(text),
    got: text(got.outcomes[index]) ?? got.error,
    wanted: text(wanted.outcomes[index]) ?? wanted.error,
  };
}

interface Result {
  readonly outcomes: readonly unknown[];
  readonly error?: string;
}
