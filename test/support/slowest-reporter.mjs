import { relative } from 'node:path';

const SHOWN = 10;

/** Prints the slowest files at the end of a run of many: what they take, everybody waits for. */
export default class SlowestReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_contexts, { testResults }) {
    if (testResults.length <= SHOWN) return;
    const files = testResults.map(({ testFilePath, perfStats: { runtime } }) => ({ testFilePath, runtime }));
    const total = files.reduce((sum, { runtime }) => sum + runtime, 0);
    console.log(`\nThe ${SHOWN} slowest of ${files.length} files, which took ${seconds(total)} together:`);
    for (const { testFilePath, runtime } of files.sort((one, other) => other.runtime - one.runtime).slice(0, SHOWN)) {
      console.log(`${seconds(runtime).padStart(8)}  ${relative(this.rootDir, testFilePath)}`);
    }
  }
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
