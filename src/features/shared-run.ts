/** Something that takes a while, done once for all who ask before it begins. */
export class SharedRun {
  private running: Promise<void> = Promise.resolve();
  private planned: Promise<void> | undefined;

  constructor(private readonly act: () => Promise<void>) {}

  /** Resolves when it has been done from now on. */
  next(): Promise<void> {
    this.planned ??= this.running.then(() => {
      this.planned = undefined;
      this.running = this.act();
      return this.running;
    });
    return this.planned;
  }
}
