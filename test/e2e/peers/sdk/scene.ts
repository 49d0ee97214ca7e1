// Scene is the starting point of an SDK program: an administrator's client, a separate namespace, and a list of things
// to close at the end.
import { systemClock } from '@kapstan/api';
import { Client, type ClientConfig, type ClientOptions, type RequestDiagnostics } from '@kapstan/client';
import { Namespace } from '@kapstan/kinds/core/v1';
import { ByteProxy } from '@kapstan/testing';
import { vi } from 'vitest';
import type { ApiServer } from './api-server.ts';

/** A behaviour. Rejects when the server and the SDK together do not show it. */
export type Program = (scene: Scene) => Promise<void>;

/** Programs, by the sentence that each one checks. */
export type Programs = Readonly<Record<string, Program>>;

export class Scene implements AsyncDisposable {
  readonly namespace: string;
  readonly client: Client;
  readonly server: ApiServer;
  /** Texts of warnings that {@link client} received. */
  readonly warnings: string[] = [];
  /** Requests that {@link client} sent. */
  readonly requests: RequestDiagnostics[] = [];
  readonly #open: (() => unknown)[] = [];

  private constructor(server: ApiServer, namespace: string) {
    this.server = server;
    this.namespace = namespace;
    this.client = this.connect({
      onWarning: (text) => this.warnings.push(text),
      onRequest: (request) => this.requests.push(request),
    });
  }

  static async make(server: ApiServer, namespace: string): Promise<Scene> {
    const scene = new Scene(server, namespace);
    await scene.client.create(Namespace, { metadata: { name: namespace } });
    return scene;
  }

  /** Returns another client, which is closed at the end. */
  connect(options: ClientOptions = {}, config: Partial<ClientConfig> = {}): Client {
    const { url, token } = this.server;
    const client = new Client({ server: url, token, tls: { insecureSkipVerify: true }, ...config }, options);
    this.defer(() => client.close());
    return client;
  }

  /** Returns a client whose connections can be broken. */
  async connectThroughProxy(
    options: ClientOptions = {},
  ): Promise<{ readonly proxy: ByteProxy; readonly client: Client }> {
    const proxy = await ByteProxy.start({ targetPort: () => Number(new URL(this.server.url).port) });
    this.defer(() => proxy.close());
    return { proxy, client: this.connect(options, { server: `https://127.0.0.1:${proxy.port}` }) };
  }

  /** Runs this function at the end. Functions that were deferred last run first. */
  defer(end: () => unknown): void {
    this.#open.unshift(end);
  }

  /** An abort signal that fires at the end. */
  get signal(): AbortSignal {
    const controller = new AbortController();
    this.defer(() => controller.abort());
    return controller.signal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#open.splice(0)) await end();
  }
}

/** Repeats the check until it passes, for at most ten seconds. */
export function eventually<R>(look: () => R | Promise<R>, timeout = 10_000): Promise<R> {
  return vi.waitFor(look, { timeout, interval: 20 });
}

/** Real time is needed only for a server's own timers. */
export const clock = systemClock;
