import { allOptions } from './options.js';

/** The text of `gjallar --help`. */
export function helpText(version: string): string {
  const rows = Object.values(allOptions).map(
    (spec) => `  ${spec.name}\n      ${spec.description}\n      Accepts ${spec.accepts}. Default: ${spec.default}.`,
  );
  return `gjallar ${version}: a clustered Socket.IO server

Usage: gjallar [--help] [--version]

Set these environment variables to configure the server. All of them are optional.

${rows.join('\n')}
`;
}
