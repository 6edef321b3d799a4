import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as OTLP carries it, with the worker that it comes from. */
export interface ReceivedSpan {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

type OtlpAttributes = { key: string; value: { stringValue?: string; intValue?: number } }[];

interface OtlpBody {
  resourceSpans?: {
    resource: { attributes: OtlpAttributes };
    scopeSpans: { spans: (Omit<ReceivedSpan, 'attributes' | 'resource'> & { attributes: OtlpAttributes })[] }[];
  }[];
}

/** A receiver of traces by OTLP over HTTP with JSON. */
export class TelemetryReceiver {
  readonly spans: ReceivedSpan[] = [];
  private readonly server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as OtlpBody;
    for (const { resource, scopeSpans } of body.resourceSpans ?? []) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          ...span,
          attributes: valuesOf(span.attributes),
          resource: { ...valuesOf(resource.attributes), path: request.url },
        });
      }
    }
    response.setHeader('Content-Type', 'application/json').end('{}');
  });

  static async start(): Promise<TelemetryReceiver> {
    const receiver = new TelemetryReceiver();
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

function valuesOf(attributes: OtlpAttributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}
