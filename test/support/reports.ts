import { expect } from '@jest/globals';
import { type Problem, Problems, problemCodes, type Reason } from '../../src/base/problems.js';
import { type MalformedSource, type Reports, thisProcess } from '../../src/base/process.js';

/** What the parts of this process report to the operator. */
export class Reported implements Reports {
  readonly problems = new Problems();
  /** The lines of the log. */
  readonly lines: [level: string, fields: object, message: string][] = [];
  readonly log = {
    error: (...line: [object, string]) => void this.lines.push(['error', ...line]),
    warn: (...line: [object, string]) => void this.lines.push(['warn', ...line]),
    info: (...line: [object, string]) => void this.lines.push(['info', ...line]),
  };

  /** The malformed messages: their sources, and what is wrong with them. */
  readonly malformedFrom: MalformedSource[] = [];
  readonly reasons: string[] = [];
  readonly rejections: string[] = [];

  malformed(source: MalformedSource, reason: string): void {
    this.malformedFrom.push(source);
    this.reasons.push(reason);
  }

  rejected(code: string): void {
    this.rejections.push(code);
  }

  disconnected(): void {}

  /** From now on, the parts of this process report here. */
  static here(): Reported {
    const reported = new Reported();
    thisProcess.reports = reported;
    return reported;
  }

  /** The texts of what is down. */
  get down(): string[] {
    return this.problems.down.map(({ text }) => text);
  }

  get messages(): string[] {
    return this.lines.map(([, , message]) => message);
  }
}

/** Problems that are told as they come and go: `+` and `-` before a text, or `closed:` if it ended without being over. */
export class ToldProblems extends Problems {
  private readonly known = new Map<unknown, string>();

  /** @param onWarning told of problems that end by themselves */
  constructor(
    private readonly told: string[],
    private readonly onWarning: (text: string) => void,
  ) {
    super();
  }

  override raise(owner: unknown, reason: Reason, ms?: number): void {
    if (ms !== undefined) this.onWarning(reason.text);
    else {
      const former = this.known.get(owner);
      if (former !== undefined) this.told.push(`-${former}`);
      this.told.push(`+${reason.text}`);
      this.known.set(owner, reason.text);
    }
    super.raise(owner, reason, ms);
  }

  override clear(owner: unknown): void {
    const former = this.known.get(owner);
    if (former !== undefined) this.told.push(`closed: ${former}`);
    this.known.delete(owner);
    super.clear(owner);
  }

  /** The log says that the outage is over, which has been withdrawn right before. */
  over(): void {
    this.told.push(this.told.pop()!.replace('closed: ', '-'));
  }
}

/** The answer of /readyz, with the texts of its problems. */
export interface Readiness {
  ok: boolean;
  state: string;
  problems: string[];
  warnings: string[];
}

/** Reads /readyz. Each problem has a code of the list, its remedy, and the time since when it is there. */
export async function readiness(url: string): Promise<Readiness> {
  return readinessOf(await (await fetch(`${url}/readyz`)).json());
}

export function readinessOf(given: unknown): Readiness {
  const body = given as { ok: boolean; state: string; problems: Problem[]; warnings: Problem[] };
  return { ...body, problems: body.problems.map(textOf), warnings: body.warnings.map(textOf) };
}

function textOf({ code, text, remedy, since }: Problem): string {
  // Under `gjallar run`, the variables have a prefix.
  expect({ code, remedy: remedy.replaceAll('GJALLAR_', '') }).toEqual({ code, remedy: problemCodes[code].remedy });
  expect(since).toBeGreaterThan(Date.now() - 3_600_000);
  expect(since).toBeLessThan(Date.now() + 3_600_000);
  return text;
}
