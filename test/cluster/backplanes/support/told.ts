import type { Backplane } from '../../../../src/cluster/backplanes/backplane.js';

/** What a backplane tells of its server from now on: `up`, or what is down, with the words of the server. */
export function toldBy({ health }: Pick<Backplane, 'health'>): string[] {
  const told: string[] = [];
  health.listen(() => told.push(health.fault ? `${health.fault.text}: ${health.fault.cause}` : 'up'));
  return told;
}
