/** Where, when, of what and how. */
export function provenance(rows) {
  const every = (of) => [...new Set(rows.map(of).filter((text) => text !== undefined))];
  const days = every(({ date }) => date.slice(0, 10)).sort();
  const machines = every(({ machine: { cores, cpu, memory, kernel, pinned } }) =>
    [
      `${cores} cores`,
      cpu,
      `${Math.round(memory / 2 ** 30)} GiB`,
      `Linux ${kernel}`,
      pinned ? 'server and generators on separate cores' : 'not pinned to cores',
    ].join(', '),
  );
  const versions = every(({ versions: all }) =>
    Object.entries(all)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
  );
  const facts = [
    ['date', days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0]],
    ['machine', machines.join('<br>')],
    ['versions', versions.join('<br>')],
    ['commit', every(({ commit }) => commit).join(', ')],
    ['commands', every(({ command }) => `\`${command}\``).join('<br>')],
  ];
  return `| | |\n|---|---|\n${facts.map(([name, text]) => `| ${name} | ${text} |`).join('\n')}`;
}
