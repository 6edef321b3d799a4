/** How deep a packet's data may be nested. Node's stack has room for several times this depth. */
export const MAX_NESTING = 1000;

/**
 * JSON.parse accepts any depth, but recursive code that walks over the result overflows the stack and ends the process.
 * socket.io-parser, which looks for binary data, and JSON.stringify do that.
 * @throws Error if data is nested deeper than {@link MAX_NESTING}
 */
export function checkDepth(text: string): void {
  // A shorter text, or one with fewer brackets, cannot be nested this deep.
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

/** Whether the text has enough brackets anywhere. Spares long texts with few brackets a check of each character. */
function opensOften(text: string): boolean {
  let left = MAX_NESTING;
  for (const bracket of '[{') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true;
  }
  return false;
}
