interface Wanted {
  /** A text that the labels must contain. */
  labels?: string;
  headers?: Record<string, string>;
}

/** The values of a metric, one for each set of labels, from what serves `/metrics` at a URL. */
export async function metric(url: string, name: string, { labels = '', headers }: Wanted = {}): Promise<number[]> {
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.filter((line) => line.includes(labels)).map((line) => Number(line.split(' ').at(-1)));
}

/** The sum of a metric over several servers. */
export async function sumOf(urls: readonly string[], name: string, wanted?: Wanted): Promise<number> {
  const values = await Promise.all(urls.map((url) => metric(url, name, wanted)));
  return values.flat().reduce((sum, value) => sum + value, 0);
}
