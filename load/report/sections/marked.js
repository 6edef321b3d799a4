const BEGIN = '<!-- from here written by npm run bench:report -->';
const END = '<!-- to here -->';

/** A page with what stands between its two marks replaced. `name` is what an error calls it. */
export function betweenMarks(name, text, section) {
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${name} lacks the marks "${BEGIN}" and "${END}"`);
  return `${before}${BEGIN}\n\n${section}\n\n${END}${after}`;
}
