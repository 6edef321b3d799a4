// A picture in a page on GitHub sees the reader's system setting, not the page: it brings its own ground along, so that
// it can be read on either.
const style = `<style>
svg { color: #1f2328; background: #ffffff; border-radius: 6px }
@media (prefers-color-scheme: dark) { svg { color: #e6edf3; background: #151b23 } }
</style>`;

const config = {
  background: null,
  font: 'system-ui, sans-serif',
  padding: 16,
  view: { stroke: null },
  title: {
    color: 'currentColor',
    anchor: 'start',
    fontSize: 15,
    subtitleColor: 'currentColor',
    subtitleFontSize: 12,
    offset: 12,
  },
  axis: {
    labelColor: 'currentColor',
    titleColor: 'currentColor',
    domainColor: 'currentColor',
    tickColor: 'currentColor',
    gridColor: 'currentColor',
    gridOpacity: 0.15,
    domainOpacity: 0.5,
    tickOpacity: 0.5,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    titlePadding: 8,
  },
  header: {
    labelColor: 'currentColor',
    titleColor: 'currentColor',
    labelFontSize: 13,
    labelFontWeight: 'bold',
    titleFontSize: 12,
  },
  legend: {
    labelColor: 'currentColor',
    titleColor: 'currentColor',
    labelFontSize: 12,
    title: null,
    symbolStrokeWidth: 2.5,
  },
  line: { strokeWidth: 2.5 },
};

/**
 * Draws a specification of Vega-Lite.
 * @param {object} specification
 * @param {string} alt what is to be seen, in words
 */
export async function draw(specification, alt) {
  // They take longer to load than everything else to run, and a report without plots does without.
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  const compiled = compile({ ...specification, config }, { logger: silent }).spec;
  const view = new View(parse(compiled), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  return `${tidy(svg).replace(/<svg[^>]*>/, (tag) => `${tag}<title>${alt}</title>${style}`)}\n`;
}

/** What a picture does not need: names for readers of its parts, and more than a hundredth of a pixel, which may differ. */
const tidy = (svg) =>
  svg
    .replace(/ (?:aria-[a-z]+|role)="[^"]*"/g, '')
    .replace(/\d+\.\d{3,}/g, (number) => String(Number(Number(number).toFixed(2))));

// Warnings would be of a plot whose figures are not there, and that is said in the report.
const silent = {
  level: () => silent,
  error: () => silent,
  warn: () => silent,
  info: () => silent,
  debug: () => silent,
};
