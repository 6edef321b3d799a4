/** What a check found: all is well, something should be changed, or the server cannot work as configured. */
export interface Finding {
  level: 'ok' | 'warn' | 'fail';
  message: string;
}

export const ok = (message: string): Finding => ({ level: 'ok', message });
export const warn = (message: string): Finding => ({ level: 'warn', message });
export const fail = (message: string): Finding => ({ level: 'fail', message });

/** The text of an error in one line. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return (message || code || String(error)).split('\n', 1)[0]!;
}
