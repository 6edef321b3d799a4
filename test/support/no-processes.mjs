import childProcess from 'node:child_process';

const SYNCHRONOUS = ['spawnSync', 'execFileSync', 'execSync'];

/**
 * Makes every start of a process fail, and be reported, until the returned function is called. The tests of the tier
 * `unit` run so.
 */
export function forbidProcesses(report) {
  const { prototype } = childProcess.ChildProcess;
  const { spawn } = prototype;
  const originals = SYNCHRONOUS.map((name) => [name, childProcess[name]]);
  const refuse = (program) => {
    const error = new Error(
      `This test is in the tier "unit", but starts a process: ${program}. Import what starts it statically, so that test/setup/tiers.mjs finds it, or test without a process.`,
    );
    report(error);
    throw error;
  };
  prototype.spawn = ({ file }) => refuse(file);
  for (const name of SYNCHRONOUS) childProcess[name] = (program) => refuse(program);
  return () => {
    prototype.spawn = spawn;
    for (const [name, original] of originals) childProcess[name] = original;
  };
}
