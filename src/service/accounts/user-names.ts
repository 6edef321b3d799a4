/**
 * Characters that no user name may contain although they show nothing: C1 controls, line and paragraph separators, format
 * characters (joiners included, so no name needs a rule for where they are harmless), and fillers. With them, two
 * different names could look the same.
 */
const INVISIBLE = /[\u0080-\u009f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** The one exception: the selector that turns a symbol such as U+2764 into an emoji, which keyboards add by themselves. */
const EMOJI_SELECTOR = /(?<=(?!\p{Emoji_Presentation})\p{Extended_Pictographic})\ufe0f/gu;

export function hasInvisibleCharacters(name: string): boolean {
  return INVISIBLE.test(name.replaceAll(EMOJI_SELECTOR, ''));
}
