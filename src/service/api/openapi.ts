// How operations, and the schemas of zod that check their input, become parts of an OpenAPI document.
import { z } from 'zod';
import { type ErrorCode, errorCodes } from '../../base/errors.js';

/** What an operation takes and answers. */
interface Contract {
  query?: z.ZodObject;
  header?: z.ZodObject;
  body?: z.ZodType;
  /** The fields of a successful response besides `ok`, or its whole schema. */
  fields?: z.ZodRawShape | z.ZodType;
  /** @default 200 */
  status?: number;
  /** @default JSON */
  type?: string;
  /** The codes of its errors besides those that all have, separated by spaces. */
  errors?: string;
}

/** Describes operations that have some errors in common. */
export const operationsOf =
  (security: string, general: string, common: string) =>
  (operationId: string, summary: string, description: string, answer: string, contract: Contract) => {
    const { query, header, body, fields = {}, status = 200, type = 'application/json', errors = '' } = contract;
    const codes = `${common} ${errors}${body ? ' BAD_JSON BODY_TOO_LARGE' : ''}`.match(/\w+/g) as ErrorCode[];
    const about = [general, description].filter(Boolean).join(' ');
    const schema = schemaOf(fields instanceof z.ZodType ? fields : ok(fields));
    return {
      operationId,
      summary,
      ...(about && { description: about }),
      security: [{ [security]: [] }],
      parameters: [...parametersOf('query', query), ...parametersOf('header', header)],
      ...(body && { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body) } } } }),
      responses: { [status]: { description: answer, content: { [type]: { schema } } }, ...failures(codes) },
    };
  };

export const ok = (fields: z.ZodRawShape) => z.object({ ok: z.literal(true), ...fields });

/** Parts of the document that others refer to, by name. */
export const schemas: Record<string, object> = {};

export function schemaOf(schema: z.core.$ZodType): object {
  const {
    $schema: _,
    $defs,
    ...own
  } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  Object.assign(schemas, $defs);
  return JSON.parse(JSON.stringify(own).replaceAll('#/$defs/', '#/components/schemas/'));
}

function parametersOf(place: 'path' | 'query' | 'header', fields: z.ZodObject = z.object({})): object[] {
  return Object.entries(fields.shape).map(([name, field]) => {
    const { description, ...schema } = schemaOf(field) as { description?: string };
    return { name, in: place, required: place === 'path', description, schema };
  });
}

/** The responses to errors, by status. */
function failures(codes: readonly ErrorCode[]): object {
  const message = z.string().describe('What happened, why, and what to do.');
  schemas.Failure = schemaOf(z.object({ ok: z.literal(false), code: z.string(), message }));
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } };
  const byStatus: Record<number, { description: string; content: object }> = {};
  for (const code of codes) {
    const { status } = errorCodes[code];
    const before = byStatus[status] ? `${byStatus[status].description}, ` : '';
    byStatus[status] = { description: `${before}\`${code}\``, content };
  }
  return byStatus;
}

/** A number from 0. */
export const count = (description?: string) => z.int().min(0).meta({ description });
/** A field that is true, or absent. */
export const flag = (description: string) => z.literal(true).optional().describe(description);

/** A copy of a schema, of zod or zod/mini, with a description. */
export function about<Schema extends z.core.$ZodType>(schema: Schema, description: string): Schema {
  const copy = z.core.clone(schema);
  z.globalRegistry.add(copy, { description });
  return copy;
}

/** An object schema of the input with a description for each field. */
export function described<Shape extends z.core.$ZodShape>(
  { shape }: { readonly shape: Shape },
  texts: Readonly<Record<keyof Shape & string, string>>,
): z.ZodObject {
  const fields = Object.entries(shape).map(([name, field]) => [name, about(field, texts[name as keyof typeof texts])]);
  return z.object(Object.fromEntries(fields));
}

/** A path with its operations, by method. @param segments the schemas of the parameters of all paths, by name */
export function pathOf(segments: z.ZodObject, [path, methods]: [string, object]): [string, object] {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => [name!, true]);
  const own = segments.pick(Object.fromEntries(names));
  const described = Object.entries(methods).map(([method, operation]) => [
    method.toLowerCase(),
    { ...operation, parameters: [...parametersOf('path', own), ...operation.parameters] },
  ]);
  return [path, Object.fromEntries(described)];
}
