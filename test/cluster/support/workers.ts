import { Server } from 'socket.io';
import { idPrefixOf } from '../../../src/base/worker-name.js';
import { Mesh } from '../../../src/cluster/mesh/mesh.js';
import { Node } from '../../../src/cluster/node.js';
import { Relay, type Successors } from '../../../src/cluster/relay/relay.js';
import { Envelope } from '../../../src/cluster/wire/envelope.js';
import type { EngineOptions } from '../../../src/engine/options.js';
import { App } from '../../../src/engine/sockets.js';
import { closeEngines, type RunningEngine, startEngine } from '../../engine/support/engine.js';
import { temporaryFolder } from '../../support/folder.js';
import { pass } from '../../support/until.js';

/** The mesh of a worker whose messages to the others take some time, or wait until they are released. */
class SlowMesh extends Mesh {
  delayMs = 0;
  private held: (() => void)[] | undefined;

  /** From now on, messages wait. */
  hold(): void {
    this.held ??= [];
  }

  /** Sends what has waited, and no longer waits. */
  release(): void {
    const { held = [] } = this;
    this.held = undefined;
    for (const send of held) send();
  }

  override send(to: number, envelope: Envelope | Buffer): boolean {
    // A greeting comes first.
    if (this.delayMs === 0 && !this.held) return super.send(to, envelope);
    const bytes = envelope instanceof Envelope ? envelope.whole : envelope;
    const send = () => super.send(to, bytes);
    if (this.held) this.held.push(send);
    else void pass(this.delayMs).then(send);
    return this.has(to);
  }
}

/** A worker in this process, with a port of its own, so that a test chooses the worker that gets a request. */
export interface TestWorker extends RunningEngine {
  readonly io: Server;
  readonly mesh: SlowMesh;
  readonly relay: Relay;
  /** The workers that were replaced, as far as it knows. */
  successors: Successors;
}

const workers: TestWorker[] = [];
let directory: string | undefined;

/** Starts one more worker of the machine; {@link stopWorkers} ends all. */
export async function startWorker(options: EngineOptions = {}, app = App()): Promise<TestWorker> {
  directory ??= temporaryFolder();
  const id = workers.length + 1;
  const mesh = new SlowMesh(id, directory);
  await mesh.listen();
  await mesh.join(workers.map((other) => other.mesh.id));
  const running = await startEngine({ ...options, idPrefix: idPrefixOf(id) }, { app });
  const relay = new Relay(new Node(mesh, 'machine0', true), running.engine, 0, () => worker.successors);
  running.engine.relay = relay;
  const io = new Server({ serveClient: false });
  io.bind(running.engine);
  const worker: TestWorker = { ...running, io, mesh, relay, successors: [] };
  workers.push(worker);
  return worker;
}

export async function stopWorkers(): Promise<void> {
  closeEngines();
  for (const { mesh } of workers.splice(0)) mesh.close();
  directory = undefined;
}
