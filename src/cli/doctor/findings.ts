import type { ProblemCode } from '../../base/problems.js';
import { brokerCause } from '../../cluster/backplanes/broker-cause.js';

/** What the checks found: all is well, something should be changed, or the server cannot work as configured. */
export class Findings {
  readonly lines: string[] = [];

  readonly ok = (text: string) => void this.lines.push(`ok    ${text}`);
  readonly warn = (text: string) => void this.lines.push(`warn  ${text}`);

  /** @param code what a running server calls it */
  fail(text: string, code?: ProblemCode): void {
    this.lines.push(`fail  ${text}${code ? ` [${code}]` : ''}`);
  }

  /** @param remedy what to do if it is not fine */
  check(isFine: boolean, text: string, remedy: string): void {
    if (isFine) this.ok(text);
    else this.warn(`${text}. ${remedy}`);
  }

  /**
   * Tries to use something.
   * @param use resolves with what it found
   * @returns whether it works
   */
  async attempt(use: () => Promise<string>, failure: string, remedy: string, code?: ProblemCode): Promise<boolean> {
    try {
      this.ok(await use());
      return true;
    } catch (error) {
      const reason = reasonOf(error);
      const cause = brokerCause(reason);
      this.fail(`${failure}: ${cause?.text ?? reason}. ${remedy}`, cause?.code ?? code);
      return false;
    }
  }
}

/** The text of an error in one line. */
export function reasonOf(error: unknown): string {
  const { message, code, cause } = error as NodeJS.ErrnoException;
  // fetch() hides why it failed.
  return cause ? reasonOf(cause) : (message || code || String(error)).split('\n', 1)[0]!.replace(/\.+$/, '');
}
