import { type FigureName, figureKinds } from './figure-table.js';
import { joinTexts } from './names.js';

/** One figure: its name, the values of its labels, and its value. */
export type Figure = readonly [name: FigureName, labels: readonly string[], value: number];

/** One value of a figure with labels: the values of the labels in the order of the table, then the number. */
export type Labelled = readonly [...labels: string[], value: number];

/** What a part of the process reports: a number, or one for each combination of labels; undefined if there is none at present. */
export type Readings = { readonly [name in FigureName]?: number | undefined | Iterable<Labelled> };

/** Figures of several parts of a worker, or of several workers, put together as the table says. */
export class Totals {
  private readonly byKey = new Map<string, Figure>();

  /** @param worker becomes a label of the figures that each worker has */
  add(figures: Iterable<Figure>, worker?: number): this {
    for (const [name, given, value] of figures) {
      const { rule } = figureKinds[name];
      const isOfEach = worker !== undefined && (rule === 'worker' || rule === 'longest');
      const labels = isOfEach ? [...given, String(worker)] : given;
      const key = joinTexts(name, ...labels);
      const known = this.byKey.get(key)?.[2];
      this.byKey.set(key, [name, labels, known === undefined ? value : together(rule, known, value)]);
    }
    return this;
  }

  get all(): Figure[] {
    return [...this.byKey.values()];
  }
}

function together(rule: (typeof figureKinds)[FigureName]['rule'], one: number, other: number): number {
  if (rule === 'max' || rule === 'longest') return Math.max(one, other);
  return rule === 'min' ? Math.min(one, other) : one + other;
}

/** Whether a figure only grows: what has counted it may end, and the count stays. */
export function isCount([name]: Figure): boolean {
  return figureKinds[name].type !== 'gauge';
}

/** The figures of one worker. Its parts are asked when the figures are read. */
export class Figures {
  private readonly parts = new Set<() => Readings>();
  private readonly ended = new Totals();

  /** @returns takes the part out again; what it has counted stays */
  add(part: () => Readings): () => void {
    this.parts.add(part);
    return () => {
      if (this.parts.delete(part)) this.ended.add(figuresIn(part()).filter(isCount));
    };
  }

  read(): Figure[] {
    const totals = new Totals().add(this.ended.all);
    for (const part of this.parts) totals.add(figuresIn(part()));
    return totals.all;
  }
}

/** Those of the features that an application turns on, which are the same for all servers of the process. */
export const featureFigures = new Figures();

function figuresIn(readings: Readings): Figure[] {
  return Object.entries(readings).flatMap(([given, reading]): Figure[] => {
    const name = given as FigureName;
    if (reading === undefined) return [];
    if (typeof reading === 'number') return [[name, [], reading]];
    return Array.from(reading, (one): Figure => [name, one.slice(0, -1) as string[], one.at(-1) as number]);
  });
}

/** The last label of the sum of all values of a histogram, beside those of its bounds. */
export const SUM = 'sum';
/** The bound of a histogram that all values are below, and so the number of values. */
export const ALL = '+Inf';

/** A histogram with one label. Its figures add a label: an upper bound, with the number of values up to it, or {@link SUM}. */
export class Histogram {
  private readonly values: Map<string, Map<string, number>>;

  /**
   * @param bounds upper bounds in the unit of the name, the smallest one first
   * @param labels all values of its label
   */
  constructor(
    private readonly bounds: readonly number[],
    labels: readonly string[],
  ) {
    const parts = [...bounds.map(String), ALL, SUM];
    this.values = new Map(labels.map((label) => [label, new Map(parts.map((part) => [part, 0]))]));
  }

  observe(label: string, value: number): void {
    const values = this.values.get(label)!;
    const add = (part: string, more: number) => values.set(part, values.get(part)! + more);
    for (const bound of this.bounds) if (value <= bound) add(String(bound), 1);
    add(ALL, 1);
    add(SUM, value);
  }

  *read(): Generator<Labelled> {
    for (const [label, values] of this.values) for (const [part, value] of values) yield [label, part, value];
  }
}
