/** The parts of libsql's two interfaces that are used. libsql's own types for the asynchronous one are all `any`. */
export interface Statement {
  run(parameters: unknown[]): unknown;
  get(parameters: unknown[]): unknown;
}
export interface ReadStatement extends Statement {
  all(parameters: unknown[]): unknown[];
}
/** The connection for writing: `exec` runs on a thread of libsql's, everything else on this one. */
export interface WriteConnection {
  readonly inTransaction: boolean;
  exec(sql: string): Promise<void>;
  prepare(sql: string): Promise<Statement>;
  close(): void;
}

/** Statements by the names of their texts. */
export type Statements<Texts> = Record<keyof Texts, Statement>;

export async function prepareAll<Texts extends Record<string, string>>(
  writer: WriteConnection,
  texts: Texts,
): Promise<Statements<Texts>> {
  const prepared: [string, Statement][] = [];
  for (const [name, text] of Object.entries(texts)) prepared.push([name, await writer.prepare(text)]);
  return Object.fromEntries(prepared) as Statements<Texts>;
}

/** A text column's value. libsql reads text only up to its first NUL, so such text is stored as a blob. */
export type Text = string | ArrayBuffer;
export const encodeText = (text: string): string | Buffer => (text.includes('\0') ? Buffer.from(text) : text);
export const decodeText = (value: Text): string => (typeof value === 'string' ? value : Buffer.from(value).toString());
