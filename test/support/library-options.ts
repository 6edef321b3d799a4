import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const files = ['src/engine/options.ts', 'src/io/server/engine-options.ts'];

export interface LibraryOption {
  readonly name: string;
  readonly fallback: string;
  readonly description: string;
}

/** The options of the library, as their comments describe them. */
export function libraryOptions(): LibraryOption[] {
  return files.flatMap((file) => {
    const text = readFileSync(root + file, 'utf8');
    const body = /export interface (?:EngineOptions|ServerOptions)[^{]*\{\n(.*?)\n\}/s.exec(text)![1]!;
    return [...body.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\s*(\w+)\?:/gs)].map(([, comment, name]) => {
      const words = comment!
        .replace(/\n\s*\*/g, '\n')
        .replace(/\s+/g, ' ')
        .trim();
      const [description, fallback = 'none'] = words.split(/ ?@default /) as [string, string?];
      return { name: name!, fallback, description };
    });
  });
}
