#!/usr/bin/env node
// The tests that failed, from the JSON that jest has written: a line each, with the first lines of the message.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const LINES = 12;

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));

function print(file, name, message) {
  const lines = stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '');
  console.log(`${relative(process.cwd(), file)}: ${name}`);
  for (const line of lines.slice(0, LINES)) console.log(`    ${line}`);
}

for (const { name: file, assertionResults, status, message } of testResults) {
  const failed = assertionResults.filter((result) => result.status === 'failed');
  for (const { fullName, failureMessages } of failed) print(file, fullName, failureMessages.join('\n'));
  // A file that could not be run has no tests.
  if (status === 'failed' && failed.length === 0) print(file, 'could not be run', message);
}
