import { z } from 'zod';
import { type ErrorCode, errorCodes } from '../../base/errors.js';
import { own } from '../../base/owner.js';
import type { Headers } from '../../io/http/headers.js';
import type { Sender } from '../../io/http/json.js';

/** How the OpenAPI document describes one operation. Everything with a shape is a schema of zod. */
export interface Description {
  readonly id: string;
  readonly summary: string;
  readonly about?: string;
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, z.ZodType>>;
  readonly body?: z.ZodType;
  /** The fields of a successful response besides `ok`, with what it means. */
  readonly reply: readonly [meaning: string, fields?: z.ZodRawShape | readonly z.ZodRawShape[]];
  /** The type of a successful response that is no JSON object. */
  readonly contentType?: string;
  /** The status of a successful response; default: 200. */
  readonly status?: number;
  /** The keys of `security` in {@link ApiInfo}; one of them suffices. None for everybody. */
  readonly security: readonly string[];
  readonly errors: readonly ErrorCode[];
}

export interface ApiInfo {
  readonly description: string;
  readonly security: Readonly<Record<string, object>>;
  /** The parameters of paths, by name. */
  readonly parameters: Readonly<Record<string, z.ZodType>>;
}

/** The OpenAPI document of operations that are named like `GET /api/stats`. */
export function openApiOf(info: ApiInfo, operations: Readonly<Record<string, Description>>): object {
  const paths: Record<string, Record<string, object>> = {
    '/api/openapi.json': {
      get: {
        ...{ operationId: 'describe', summary: 'This document.', security: [] },
        responses: { 200: responseOf('The document.', z.looseObject({})) },
      },
    },
  };
  for (const [name, description] of Object.entries(operations)) {
    const [method, path] = name.split(' ') as [string, string];
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(info, path, description) };
  }
  const failure = z.object({
    ok: z.literal(false),
    code: z.string(),
    message: z.string().describe('What happened, why, and what to do.'),
  });
  return {
    openapi: '3.1.0',
    info: {
      ...{ title: 'gjallar', version: '1', description: info.description },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths,
    components: { securitySchemes: info.security, schemas: { Failure: jsonSchemaOf(failure) } },
  };
}

function operationOf(info: ApiInfo, path: string, description: Description): object {
  const { id, summary, about, query, headers = {}, body, reply, contentType, status = 200, security } = description;
  const [meaning, fields = {}] = reply;
  const shapes = Array.isArray(fields) ? fields : [fields];
  const replies = shapes.map((shape) => z.object({ ok: z.literal(true), ...shape }));
  const schema = contentType ? z.unknown() : replies.length === 1 ? replies[0]! : z.union(replies);
  return {
    operationId: id,
    summary,
    description: about,
    security: security.map((name) => ({ [name]: [] })),
    parameters: [
      ...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => parameterOf('path', name!, info.parameters[name!]!)),
      ...Object.entries(query?.shape ?? {}).map(([name, each]) => parameterOf('query', name, each as z.ZodType)),
      ...Object.entries(headers).map(([name, each]) => parameterOf('header', name, each)),
    ],
    requestBody: body && { required: true, content: { 'application/json': { schema: jsonSchemaOf(body) } } },
    responses: { [status]: responseOf(meaning, schema, contentType), ...errorsOf(description.errors) },
  };
}

function parameterOf(place: 'path' | 'query' | 'header', name: string, type: z.ZodType): object {
  const { description, ...schema } = jsonSchemaOf(type);
  return { name, in: place, required: place === 'path', description, schema };
}

function responseOf(description: string, type: z.ZodType, contentType = 'application/json'): object {
  return { description, content: { [contentType]: { schema: jsonSchemaOf(type) } } };
}

/** The responses of errors, by status. The messages are long; the page of error codes has them. */
function errorsOf(codes: readonly ErrorCode[]): Record<string, object> {
  const statuses = new Set(codes.map((code) => errorCodes[code].status));
  const response = (list: readonly ErrorCode[]) => ({
    description: list.map((code) => `\`${code}\``).join(', '),
    content: {
      'application/json': {
        schema: { allOf: [{ $ref: '#/components/schemas/Failure' }, { properties: { code: { enum: list } } }] },
      },
    },
  });
  return Object.fromEntries(
    Array.from(statuses, (status) => [status, response(codes.filter((code) => errorCodes[code].status === status))]),
  );
}

/** The schema of what is sent. */
function jsonSchemaOf(type: z.ZodType): Record<string, unknown> {
  const { $schema: _draft, ...schema } = z.toJSONSchema(type, {
    io: 'input',
    override({ jsonSchema }) {
      // zod's integers have the limits of JavaScript.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return schema;
}

/**
 * Answers requests for the OpenAPI document. The request is short and the document is long: it is encoded once, and sent within
 * the turn of the request, where the request guard measures how long it takes.
 */
export function documentSender(describe: () => Promise<object>): (exchange: Sender, headers: Headers) => void {
  let document: Buffer | undefined;
  return (exchange, headers) => {
    const send = (bytes: Buffer) => exchange.send(200, { ...headers, 'Content-Type': 'application/json' }, bytes);
    if (document) return send(document);
    const described = describe().then((value) => {
      document ??= Buffer.from(`${JSON.stringify(value)}\n`);
      send(document);
    });
    own('describing the API', described);
  };
}
