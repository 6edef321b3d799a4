/** The requests of this worker that are about to change a room, by the room's name. */
export class Writers {
  private readonly counts = new Map<string, number>();

  has(name: string): boolean {
    return this.counts.has(name);
  }

  begin(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  end(name: string): void {
    const left = this.counts.get(name)! - 1;
    if (left > 0) this.counts.set(name, left);
    else this.counts.delete(name);
  }
}
