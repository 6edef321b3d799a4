/** Texts in columns of a terminal. */

/** Characters that would act on the terminal, or change the direction of the line. Clients choose some of the texts. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Cs}/gu;
const COMBINING = /\p{M}/u;
/** East Asian wide characters and emoji take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** A text without characters that act on the terminal. */
export function safe(text: string): string {
  return text.replace(UNSAFE, '?');
}

function widthOf(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** A text as a column: cut to a width, and filled up to it. */
export function column(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const shown = cut(text, width);
  const space = ' '.repeat(Math.max(0, width - columnsOf(shown)));
  return align === 'left' ? shown + space : space + shown;
}

/** A text cut to a width. */
export function cut(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  let shown = '';
  let used = 0;
  for (const character of text) {
    used += widthOf(character);
    if (used > width - 1) return width > 0 ? `${shown}…` : '';
    shown += character;
  }
  return shown;
}

/** The number of columns that a text takes. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += widthOf(character);
  return columns;
}

/** Lines of text of two blocks side by side. */
export function beside(left: readonly string[], right: readonly string[], width: number): string[] {
  const half = Math.floor((width - 2) / 2);
  const rows = Math.max(left.length, right.length);
  return Array.from({ length: rows }, (_, row) => `${column(left[row] ?? '', half)}  ${cut(right[row] ?? '', half)}`);
}
