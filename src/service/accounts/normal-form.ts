/** Everything below U+0300 is in normal form C already. */
const MAY_DIFFER = /[\u0300-\uffff]/;

/**
 * The one form of a text that can be written in several: with "é" as one character, or as "e" with an accent. Systems
 * differ in what they send, and a user must be one whatever the keyboard. Source: Unicode Standard Annex 15, form NFC.
 */
export function normalForm(text: string): string {
  return MAY_DIFFER.test(text) ? text.normalize('NFC') : text;
}
