import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../io/server/support/package.js';

/** A code block or a shell command of a page. */
export interface Block {
  readonly text: string;
  /** The first line, which names the block. */
  readonly first: string;
  /** The text of the section that the block is in. */
  readonly section: string;
}

/** The blocks of a page: those between fences, and indented ones. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  // A heading inside a block has a language that comments with `#`; it follows no empty line there.
  return text.split(/(?<=\n\n)(?=#{1,4} )/).flatMap((section) =>
    [...section.matchAll(/```\w+\n([\s\S]*?)```|(?<=\n\n|\n#+ .*\n|^#+ .*\n)((?: {4}.*\n)+)/g)].map(
      ([, fenced, indented]) => {
        const code = fenced ?? indented!.replace(/^ {4}/gm, '');
        return { text: code, first: code.trim().split('\n')[0]!, section };
      },
    ),
  );
}

/** The only block of a page that begins so. */
export function blockOf(page: string, first: string): string {
  const found = blocksOf(page).filter((block) => block.first.startsWith(first));
  if (found.length !== 1) throw new Error(`${page} has ${found.length} blocks that begin with "${first}"`);
  return found[0]!.text;
}
