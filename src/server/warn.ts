const given = new Set<string>();

/** Emits a warning once, in one line, with the page that explains it. */
export function warnOnce(code: string, message: string): void {
  if (given.has(message)) return;
  given.add(message);
  process.emitWarning(`${message} See docs/compatibility.md of gjallar.`, { type: 'GjallarWarning', code });
}
