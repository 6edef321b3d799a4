import { existsSync } from 'node:fs';
import { expect, jest, test } from '@jest/globals';
import { version } from '../../src/base/package.js';
import { commands, runTool } from '../../src/cli/commands.js';
import { allHelpTexts } from '../../src/cli/help.js';
import { runToEnd } from '../support/server.js';

const calls = ['', 'run ', ...Object.keys(commands).map((name) => `${name} `)].map((name) => `gjallar ${name}--help`);

/** What a call prints. The sub-commands need no process of their own. */
async function helpOf(call: string): Promise<string> {
  const [, name = '', ...args] = call.split(' ');
  if (!Object.hasOwn(commands, name)) {
    const { code, stdout, stderr } = await runToEnd([name, ...args]);
    expect({ call, code, stderr }).toEqual({ call, code: 0, stderr: '' });
    return stdout;
  }
  const printed: string[] = [];
  const spy = jest.spyOn(console, 'log').mockImplementation((text) => void printed.push(text));
  try {
    expect(await runTool(name, args)).toBe(true);
  } finally {
    spy.mockRestore();
  }
  return printed.join('\n');
}

test('the site has the help of every command', async () => {
  const { commandLine } = await import(new URL('../../docs/site/command-line.js', import.meta.url).href);
  const page: string = commandLine(await allHelpTexts(version)).join('\n');
  expect(page.match(/(?<=^### ).*/gm)).toEqual(calls);
  for (const call of calls) {
    expect(page).toContain(`## ${call}\n\n\`\`\`text\n${(await helpOf(call)).trim()}\n\`\`\``);
  }
});

test('help needs no valid configuration, and writes no file', async () => {
  const { code, stdout } = await runToEnd(['backup', '--help'], { PORT: 'pipe' });
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: gjallar backup FILE') });
  expect(stdout).toBe(`${await helpOf('gjallar backup --help')}\n`);
  expect(existsSync('--help')).toBe(false);
});

test('the page of compare has the options that the package gjallar-compare reads', async () => {
  expect(await helpOf('gjallar compare --help')).toContain('\n  --start-timeout S ');
});

test('--help behind -- belongs to the application', async () => {
  for (const name of ['run', 'compare', 'record']) {
    const { stdout, stderr } = await runToEnd([name, 'no-such-application.js', '--', '--help']);
    expect({ name, stdout }).toEqual({ name, stdout: '' });
    expect(stderr).toMatch(/^gjallar: /);
  }
});

test('no line of the help is longer than 100 columns', async () => {
  for (const [, text] of await allHelpTexts(version)) {
    expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
  }
});

test('a mistyped command is answered with the one that was meant', async () => {
  await expect(runTool('docter', [])).rejects.toThrow('there is no command docter; did you mean gjallar doctor?');
  await expect(runTool('rnu', ['server.js'])).rejects.toThrow('did you mean gjallar run?');
  await expect(runTool('start', [])).rejects.toThrow('gjallar alone starts the chat service, gjallar run FILE an');
  await expect(runTool('package.json', [])).rejects.toThrow('to run an application, use gjallar run package.json');
  expect(await runTool('--version', [])).toBe(false);
});

test('a mistyped option is answered with the one that was meant', async () => {
  const { code, stderr } = await runToEnd(['run', 'server.js', '--worker', '4']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('did you mean --workers?') });
  expect((await runToEnd(['--hepl'])).stderr).toContain('did you mean --help?');
});

test('gjallar help is gjallar --help', async () => {
  expect((await runToEnd(['help'])).stdout).toBe(await helpOf('gjallar --help'));
  expect((await runToEnd(['help', 'run'])).stdout).toBe(await helpOf('gjallar run --help'));
});
