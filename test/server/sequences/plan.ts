import { Random } from '../../rooms/support/random.js';

/** One request, what the application does with it, and how its client behaves. */
export interface Step {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** The length of the body. */
  readonly body: number;
  readonly framing: 'none' | 'length' | 'chunked';
  /** How the application reads the body. */
  readonly reads: 'fast' | 'slow' | 'part' | 'never';
  /** When it answers: as soon as it has read what it reads, or some turns of the event loop later. */
  readonly answers: 'at once' | 'later';
  readonly status: 200 | 204 | 304 | 404;
  /** The length of the response's body, besides what it tells of the request. */
  readonly size: number;
  readonly isLengthKnown: boolean;
  /** Whether the client, the application or neither of them asks to close the connection. */
  readonly closes: 'client' | 'server' | 'nobody';
  readonly expectsContinue: boolean;
  /** The number of pieces in which the request is written. */
  readonly pieces: number;
  /** Whether the client disconnects in the middle of the body, in the middle of the response, or not at all. */
  readonly aborts: 'in the body' | 'in the response' | 'never';
  readonly isReaderSlow: boolean;
  /** Whether the request is written together with the one before it. */
  readonly isPipelined: boolean;
}

const MAX_STEPS = 7;

/** The requests of one connection. */
export function sequenceOf(seed: number): Step[] {
  const choices = new Random(seed);
  const steps: Step[] = [];
  const count = 2 + choices.below(MAX_STEPS - 1);
  while (steps.length < count) {
    if (choices.chance(0.15)) steps.push(...pipelineOf(choices));
    else steps.push(stepOf(choices));
  }
  return steps;
}

function stepOf(choices: Random): Step {
  const method = choices.pick(['GET', 'GET', 'HEAD', 'POST', 'POST', 'POST', 'PUT'] as const);
  const hasBody = method === 'POST' || method === 'PUT';
  const body = hasBody ? choices.pick([0, 5, 5, 1000, 1000, 40_000, 200_000, 1_500_000]) : 0;
  const framing = hasBody ? choices.pick(['length', 'length', 'length', 'chunked'] as const) : 'none';
  const reads = choices.pick(['fast', 'fast', 'slow', 'slow', 'part', 'never'] as const);
  const abortable = reads === 'fast' || reads === 'slow';
  return {
    method,
    body,
    framing,
    reads,
    answers: choices.pick(['at once', 'later']),
    status: choices.pick([200, 200, 200, 200, 404, 204, 304] as const),
    size: choices.pick([0, 10, 10, 1000, 1000, 70_000, 600_000]),
    isLengthKnown: choices.chance(0.5),
    closes: choices.chance(0.08) ? choices.pick(['client', 'server'] as const) : 'nobody',
    // After a part of such a body, node:http closes the connection now and then.
    expectsContinue: body > 0 && reads !== 'part' && choices.chance(0.1),
    pieces: choices.pick([1, 1, 1, 2, 3, 20]),
    aborts: !choices.chance(0.08) ? 'never' : body > 1000 && abortable ? 'in the body' : 'in the response',
    isReaderSlow: choices.chance(0.15),
    isPipelined: false,
  };
}

/** Requests that are written at once, and answered at once: uWebSockets.js closes the connection on any others. */
function pipelineOf(choices: Random): Step[] {
  return Array.from({ length: 2 + choices.below(3) }, (_, index) => {
    const method = choices.pick(['GET', 'HEAD', 'POST'] as const);
    return {
      method,
      body: method === 'POST' ? choices.pick([0, 5, 1000]) : 0,
      framing: method === 'POST' ? 'length' : 'none',
      reads: 'fast',
      answers: 'at once',
      status: choices.pick([200, 200, 204, 304, 404] as const),
      size: choices.pick([0, 10, 1000]),
      isLengthKnown: choices.chance(0.5),
      closes: 'nobody',
      expectsContinue: false,
      pieces: 1,
      aborts: 'never',
      isReaderSlow: false,
      isPipelined: index > 0,
    };
  });
}
