/**
 * Room names in frames, which are UTF-8. UTF-8 has no half of a surrogate pair: each would become U+FFFD, and the message would
 * go to another room. U+FFFD and four digits stand for each, and for U+FFFD itself.
 */
const MARK = '\ufffd';
const UNSAFE = /[\ufffd\ud800-\udfff]/u;
const EACH_UNSAFE = /[\ufffd\ud800-\udfff]/gu;
const EACH_MARKED = /\ufffd([0-9a-f]{4})/g;

/** Different names have different texts. Nearly every name is its own text. */
export function textOfRoom(room: string): string {
  if (!UNSAFE.test(room)) return room;
  return room.replace(EACH_UNSAFE, (unit) => MARK + unit.charCodeAt(0).toString(16).padStart(4, '0'));
}

/** The room of a text. */
export function roomOfText(text: string): string {
  if (!text.includes(MARK)) return text;
  return text.replace(EACH_MARKED, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
