import type { Metric } from './metric.js';

/** What the metrics read of the placement of a worker. */
export interface PlacementFigures {
  /** The query parameter that clients are placed by; empty if the application finds the key itself. */
  readonly by: string;
  readonly counts: Readonly<Record<'in' | 'out' | 'none', number>>;
  readonly moved: number;
}

/** The metrics of placement. There are none without it. */
export function placementMetrics(figures: () => PlacementFigures | undefined): Metric[] {
  return [
    {
      name: 'gjallar_placed_clients',
      type: 'gauge',
      help: 'Clients by their place: in (where the proxy sends their key now), out, or none (without a key).',
      labels: ['by', 'place'],
      read: () => {
        const { by, counts } = figures() ?? {};
        return Object.entries(counts ?? {}).map(([place, count]) => [by!, place, count] as const);
      },
    },
    {
      name: 'gjallar_place_moves_total',
      type: 'counter',
      help: 'Clients disconnected so that they reconnect where the proxy sends their key now (PLACE_MOVES).',
      read: () => figures()?.moved,
    },
  ];
}
