import { fileURLToPath } from 'node:url';

/**
 * The scenarios. One phase with a count of arrivals each: so artillery plays all users in one thread, and they meet there.
 * @type {Record<string, {
 *   about: string,
 *   arrivals: Phase, and for `quick` runs
 *   quick: Phase,
 *   variables: object, of the steps, which have the number of users as `clients`, too
 *   quickVariables?: object,
 *   limits: string[], beside those that all scenarios have
 *   flow: (string | object)[], steps of `scenarios/NAME.mjs`, and what else artillery knows
 * }>}
 * @typedef {{ duration: number, arrivalCount: number }} Phase in seconds, at most 20
 */
export const scenarios = {
  chat: {
    about: 'Users join rooms of ten, talk, pause and leave. Clients start with polling.',
    arrivals: { duration: 20, arrivalCount: 100 },
    quick: { duration: 2, arrivalCount: 20 },
    variables: { rooms: 10, messages: 12 },
    quickVariables: { rooms: 2, messages: 3 },
    limits: ['message.ack.p99 < 500', 'message.delivery.p99 < 500'],
    flow: ['join', { loop: ['say', { think: '{{ $randomNumber(500, 2500) }}ms' }], count: '{{ messages }}' }, 'leave'],
  },
  reconnect: {
    about: 'All users lose their connections at once, while one user goes on talking. Clients start with polling.',
    arrivals: { duration: 5, arrivalCount: 200 },
    quick: { duration: 1, arrivalCount: 40 },
    variables: { rounds: 3, perSecond: 20, seconds: 6 },
    quickVariables: { rounds: 1, seconds: 4 },
    limits: ['reconnect.connected.p99 < 5000', 'reconnect.heard.p99 < 5000'],
    flow: ['join', { loop: ['lose'], count: '{{ rounds }}' }, 'leave'],
  },
};

/** The script of a scenario, as artillery reads it. */
export function scriptOf(name, quick) {
  const { arrivals, quick: fewer, variables, quickVariables, limits, flow } = scenarios[name];
  const phase = quick ? fewer : arrivals;
  const conditions = ['vusers.failed == 0', 'vusers.completed == vusers.created', ...limits];
  const auth = { name: '{{ $uuid }}', token: '{{ $env.TOKEN }}' };
  return {
    config: {
      processor: fileURLToPath(new URL(`scenarios/${name}.mjs`, import.meta.url)),
      phases: [phase],
      variables: { clients: phase.arrivalCount, ...variables, ...(quick ? quickVariables : {}) },
      plugins: { ensure: { conditions: conditions.map((expression) => ({ expression })) } },
    },
    scenarios: [{ name, engine: 'socketio', socketio: { auth }, flow: stepsOf(flow) }],
  };
}

const stepsOf = (flow) =>
  flow.map((step) => {
    if (typeof step === 'string') return { function: step };
    return step.loop ? { ...step, loop: stepsOf(step.loop) } : step;
  });
