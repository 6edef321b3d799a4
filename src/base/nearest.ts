/** Whether one name is probably a misspelt other one. */
export function isNear(name: string, option: string): boolean {
  const [one, other] = [name, option].map((text) => text.toUpperCase().replaceAll('_', ''));
  if (one === other) return true;
  return distance(one!, other!) <= (option.length < 8 ? 1 : 2);
}

/** The number of characters to insert, remove, replace or swap with their neighbour: optimal string alignment. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1;
      let least = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + cost);
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) least = Math.min(least, rows[i - 2]![j - 2]! + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[one.length]![other.length]!;
}
