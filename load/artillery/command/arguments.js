import { listed, parseArguments, rejectUnknown, UsageError } from '../../harness/command.js';
import { scenarios } from '../scenarios.js';

export const usage = () => `npm run load -- [scenario…] [--quick]

Plays users of the chat with artillery. Without a name, every scenario runs.

${listed(Object.entries(scenarios).map(([name, { about }]) => [name, about]))}

Options:
${listed([
  ['--quick', 'a few seconds per scenario'],
  ['--help', 'show this text'],
])}

Environment:
${listed([
  ['TARGET', 'address of the server; by default the command starts a server itself'],
  ['TOKEN', 'token of all users'],
])}

Exit code: 0; 1 when a threshold was missed; 2 when the arguments are wrong; 3 when nothing could run; 4 when a threshold
was missed, but artillery or other programs may be the reason.`;

/** @param {{ TARGET?: string }} environment @throws UsageError */
export function readArguments({ TARGET }, args = process.argv.slice(2)) {
  const { values, positionals } = parseArguments({ quick: { type: 'boolean', default: false } }, args);
  const all = Object.keys(scenarios);
  rejectUnknown('scenario', positionals, all);
  const names = positionals.length > 0 ? [...new Set(positionals)] : all;
  return { names, ...values, target: TARGET ? readTarget(TARGET) : undefined };
}

/** A path would be taken for a namespace by clients. */
function readTarget(value) {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && !url.username && url.pathname === '/' && !url.search && !url.hash;
  if (isPlain && ['http:', 'https:'].includes(url.protocol)) return url.origin;
  throw new UsageError(`TARGET=${value} is not the address of a server, such as https://chat.example.com`);
}
