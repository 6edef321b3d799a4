import type { Action, Script } from './script.js';
import { simulate } from './simulation.js';

/** How many scripts are tried. */
const MAX_TRIES = 600;

interface Found {
  readonly script: Script;
  readonly failure: Error;
}

/** What failures of one fault have in common. */
const ruleOf = ({ message }: Error) => message.split(':')[0];

/** The shortest script that still fails in the same way: parts of it are left out, smaller ones each time. */
export async function shortest(script: Script, failure: Error): Promise<Found> {
  let left = MAX_TRIES;
  let best: Found = { script, failure };
  const tries = async (actions: readonly Action[], clients = best.script.clients): Promise<boolean> => {
    if (left-- <= 0) return false;
    const shorter = { ...best.script, clients, actions };
    const { failure: found } = await simulate(shorter);
    if (!found || ruleOf(found) !== ruleOf(failure)) return false;
    best = { script: shorter, failure: found };
    return true;
  };
  let hasShrunk = true;
  while (hasShrunk && left > 0) {
    hasShrunk = false;
    for (let size = Math.ceil(best.script.actions.length / 2); size >= 1; size = size > 1 ? Math.ceil(size / 2) : 0) {
      for (let from = 0; from < best.script.actions.length && left > 0; ) {
        const { actions } = best.script;
        if (await tries([...actions.slice(0, from), ...actions.slice(from + size)])) hasShrunk = true;
        else from += size;
      }
    }
    if (best.script.clients > 1 && (await tries(best.script.actions, best.script.clients - 1))) hasShrunk = true;
  }
  return best;
}
