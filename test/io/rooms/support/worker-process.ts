import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Machine } from './node.js';

/**
 * Starts a worker of a machine in a process of its own, and waits until it writes a line.
 * @param args what the script is given after the folder of the mesh and the worker's id
 * @returns the process, which the test must end
 */
export function startWorkerProcess(machine: Machine, script: URL, ...args: string[]): Promise<ChildProcess> {
  return machine.addProcess(async (folder, id, others) => {
    const child = spawn(process.execPath, [fileURLToPath(script), folder, id, ...args, ...others], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(createInterface(child.stdout!), 'line');
    return child;
  });
}
