// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Whether a text has characters that no name, header or line may contain. */
export function hasControlCharacters(text: string): boolean {
  return CONTROL.test(text);
}
