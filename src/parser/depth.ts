/** How deep a packet's data may be nested. Node's stack has room for a few times as much. */
export const MAX_NESTING = 1000;

/**
 * JSON.parse takes any depth, but whatever walks over the result runs out of stack: socket.io-parser as it looks for
 * binary data before the value is sent on, JSON.stringify, and with them the process.
 * @throws Error where data is nested deeper than {@link MAX_NESTING}
 */
export function checkDepth(text: string): void {
  // What is nested so deep opens and closes as many times.
  if (text.length <= 2 * MAX_NESTING || !opensOften(text)) return;
  let depth = 0;
  let isInString = false;
  // A namespace may contain quotes.
  const start = /^\d(\d+-)?\//.test(text) ? text.indexOf(',') : 0;
  for (let at = Math.max(0, start); at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 34 /* " */) isInString = !isInString;
    else if (isInString) at += code === 92 /* \\ */ ? 1 : 0;
    else if (code === 91 /* [ */ || code === 123 /* { */) {
      if (++depth > MAX_NESTING) throw new Error('nested too deeply');
    } else if (code === 93 /* ] */ || code === 125 /* } */) depth--;
  }
}

/** Whether there are enough brackets, wherever they stand. Long texts of few brackets are not looked at one by one. */
function opensOften(text: string): boolean {
  let left = MAX_NESTING;
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true;
  }
  return false;
}
