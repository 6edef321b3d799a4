/** The idle timeout of a socket. */
export class IdleTimer {
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly fire: () => void) {}

  /** @param timeout in ms; 0 turns it off */
  set(timeout: number): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (timeout <= 0) return;
    this.timer = setTimeout(this.fire, timeout);
    this.timer.unref();
  }

  touch(): void {
    this.timer?.refresh();
  }
}
