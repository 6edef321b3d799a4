import type { HubService, OpenHubService } from '../../base/hub-service.js';
import { attempt } from '../../base/owner.js';

/** How the services of a hub reach workers and other hubs. */
interface ServicesHost {
  readonly isAlone: boolean;
  readonly isLinked: Promise<void> | undefined;
  /** The workers of this machine. */
  workers(): Iterable<number>;
  sendToWorker(service: number, worker: number, message: Uint8Array): void;
  sendToHub(service: number, hub: string, message: Uint8Array): void;
  attempt(work: () => void): void;
}

const WHAT = 'a service of the hub';

/** The services of a hub, each opened with the first message for it, of a worker or of another hub. */
export class HubServices {
  private readonly services = new Map<number, HubService>();
  /** The hubs of other machines that can be sent to. */
  private readonly hubs = new Set<string>();

  /** @param load finds a service by its number */
  constructor(
    private readonly host: ServicesHost,
    private load: (service: number) => OpenHubService | undefined = () => undefined,
  ) {}

  onMessage(service: number, worker: number, message: Buffer): void {
    (this.services.get(service) ?? this.open(service))?.onMessage(worker, message);
  }

  onHubMessage(service: number, hub: string, message: Buffer): void {
    (this.services.get(service) ?? this.open(service))?.onHubMessage(hub, message);
  }

  onWorker(worker: number, isHere: boolean): void {
    this.each((service) => (isHere ? service.onWorkerHere?.(worker) : service.onWorkerGone(worker)));
  }

  onHub(hub: string, isHere: boolean): void {
    if (this.hubs.has(hub) === isHere) return;
    if (isHere) this.hubs.add(hub);
    else this.hubs.delete(hub);
    this.each((service) => (isHere ? service.onHubHere(hub) : service.onHubGone(hub)));
  }

  close(): void {
    this.each((service) => service.close());
    this.services.clear();
    this.load = () => undefined;
  }

  private open(number: number): HubService | undefined {
    const open = this.load(number);
    if (!open) return undefined;
    const { host, hubs } = this;
    const service = open({
      ...{ isAlone: host.isAlone, isLinked: host.isLinked },
      sendToWorker: (worker, message) => host.sendToWorker(number, worker, message),
      sendToHub: (hub, message) => {
        if (hubs.has(hub)) host.sendToHub(number, hub, message);
      },
      attempt: (work) => host.attempt(work),
    });
    this.services.set(number, service);
    for (const worker of host.workers()) attempt(WHAT, () => service.onWorkerHere?.(worker));
    for (const hub of [...hubs]) attempt(WHAT, () => service.onHubHere(hub));
    return service;
  }

  private each(tell: (service: HubService) => void): void {
    for (const service of this.services.values()) attempt(WHAT, () => tell(service));
  }
}
