// The command line, behind the page of the configuration: the help of `gjallar` and of each of its commands.

const fence = '```';

/** @param {readonly (readonly [call: string, text: string])[]} helpTexts of `build/cli/help.js` */
export function commandLine(helpTexts) {
  return [
    '',
    '## Command line',
    ...helpTexts.flatMap(([call, text]) => ['', `### ${call}`, '', `${fence}text`, text.trim(), fence]),
  ];
}
