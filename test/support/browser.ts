import { afterAll } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const launches = new Set<Promise<Browser>>();

/** Starts a browser, which ends with the test file: also where its test, or its start, took too long. */
export function launchBrowser(): Promise<Browser> {
  const launch = chromium.launch({ executablePath, args });
  launches.add(launch);
  return launch;
}

afterAll(async () => {
  const outcomes = await Promise.allSettled(launches);
  await Promise.all(outcomes.map((outcome) => outcome.status === 'fulfilled' && outcome.value.close()));
});
