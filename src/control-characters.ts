// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Whether a text has characters that belong in no name, header or line. */
export function hasControlCharacters(text: string): boolean {
  return CONTROL.test(text);
}
