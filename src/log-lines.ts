/** What every line has, and a person at a terminal does not need. */
const hidden = new Set(['level', 'time', 'pid', 'process', 'worker', 'msg', 'error']);
const colours: Readonly<Record<string, number>> = { fatal: 31, error: 31, warn: 33, info: 32 };

/** A line of the log for people: time, level, worker, message, fields, and the stack of an error below it. */
export function readableLine(json: string): string {
  let line: Record<string, unknown>;
  try {
    line = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const { level, time, worker, msg, error } = line as Record<string, string | undefined>;
  const name = String(level ?? 'info');
  const fields = Object.entries(line).filter(([key]) => !hidden.has(key));
  const parts = [
    new Date(time ?? Number.NaN).toTimeString().slice(0, 8),
    `\u001b[${colours[name] ?? 36}m${name.toUpperCase().padEnd(5)}\u001b[0m`,
    ...(worker === undefined ? [] : [`worker ${worker}:`]),
    msg ?? '',
    ...fields.map(
      ([key, value]) => `\u001b[2m${key}=${typeof value === 'string' ? value : JSON.stringify(value)}\u001b[0m`,
    ),
  ];
  return `${parts.join(' ')}\n${stackOf(error)}`;
}

function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { stack, message } = error as { stack?: string; message?: string };
  return `${stack ?? message ?? JSON.stringify(error)}\n`.replace(/^/gm, '    ').trimEnd().concat('\n');
}
