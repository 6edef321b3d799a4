/** Everything behind `--` belongs to the application. */
export function splitArguments(args: readonly string[]): { own: string[]; rest: string[] } {
  const at = args.indexOf('--');
  return at === -1 ? { own: [...args], rest: [] } : { own: args.slice(0, at), rest: args.slice(at + 1) };
}
