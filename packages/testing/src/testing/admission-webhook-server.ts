// An HTTPS server that plays an admission webhook and remembers its requests. Used by the tests of admission.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { AdmissionRequest, AdmissionResponse } from '@kapstan/api/internal';
import { selfSigned } from '@kapstan/apiserver/testing';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';

type Answer = (request: AdmissionRequest, response: ServerResponse, path: string) => void;

/** Ends the exchange with a review. */
export function reviewed(
  { uid }: AdmissionRequest,
  response: ServerResponse,
  answer: AdmissionResponse = { allowed: true },
): void {
  response.setHeader('content-type', 'application/json');
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, ...answer } };
  response.end(JSON.stringify(review));
}

export const allowing: Answer = (request, response) => reviewed(request, response);

export function jsonPatch(operations: readonly unknown[]): AdmissionResponse {
  const patch = Buffer.from(JSON.stringify(operations)).toString('base64');
  return { allowed: true, patchType: 'JSONPatch', patch };
}

export class AdmissionWebhookServer {
  answer: Answer = allowing;
  readonly asked: AdmissionRequest[] = [];
  /** Called with each request before it is answered. */
  onAsked: () => void = () => undefined;
  readonly #server: Server;
  readonly #ca: string;

  private constructor(server: Server, ca: string) {
    this.#server = server;
    this.#ca = ca;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#handle(request, response));
  }

  static async start(): Promise<AdmissionWebhookServer> {
    const { cert, key } = await selfSigned('CN=hook');
    const server = createServer({ cert, key });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new AdmissionWebhookServer(server, cert);
  }

  /** Returns a webhook of this server; the path in its requests is its name. */
  webhook(changes: Partial<MutatingWebhook> & { readonly name: string }): MutatingWebhook {
    const url = `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${changes.name}`;
    return {
      clientConfig: { url, caBundle: Buffer.from(this.#ca).toString('base64') },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      ...changes,
    };
  }

  validating(name: string, changes: Partial<MutatingWebhook> = {}): ValidatingWebhookConfiguration {
    return { metadata: { name }, webhooks: [this.webhook({ name: `${name}.example.com`, ...changes })] };
  }

  mutating(name: string, changes: Partial<MutatingWebhook> = {}): MutatingWebhookConfiguration {
    return { metadata: { name }, webhooks: [this.webhook({ name: `${name}.example.com`, ...changes })] };
  }

  /** Returns the requests since the last call, as "OPERATION resource/subresource name". */
  questions(): readonly string[] {
    return this.asked.splice(0).map(({ operation, resource, subResource = '', name = '', dryRun }) => {
      const what = subResource === '' ? resource.resource : `${resource.resource}/${subResource}`;
      return `${operation} ${what} ${name}${dryRun ? ' (dry run)' : ''}`.trim();
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const { request: asked } = JSON.parse(Buffer.concat(parts).toString()) as { readonly request: AdmissionRequest };
    this.asked.push(asked);
    this.onAsked();
    this.answer(asked, response, new URL(request.url ?? '/', 'https://x').pathname.slice(1));
  }
}
