// ProbeServer serves /healthz, /readyz and /metrics of a manager over plain HTTP, for probes and for Prometheus.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import type { Registry } from 'prom-client';

/** Returns what is wrong; undefined = nothing. */
type Probe = () => string | undefined;

export interface ProbeServerOptions {
  /** 0 = any free port. */
  readonly port: number;
  /**
   * Address to listen at. Default: in a pod (if KUBERNETES_SERVICE_HOST is set) all, because the kubelet and Prometheus
   * connect from outside; else 127.0.0.1, because there is no authentication.
   */
  readonly host?: string;
}

export interface ProbeServerPages {
  readonly healthz: Readonly<Record<string, Probe>>;
  readonly readyz: Readonly<Record<string, Probe>>;
  readonly metrics: Registry;
  /** True = /readyz answers 503, so that nobody sends requests here any more. */
  readonly isStopping: () => boolean;
}

export interface ProbeServer {
  readonly host: string;
  readonly port: number;
  /** Also ends connections. Idempotent. */
  close(): Promise<void>;
}

/** Resolves once it listens. Rejects when it cannot. */
export async function startProbeServer(options: ProbeServerOptions, pages: ProbeServerPages): Promise<ProbeServer> {
  const server = createServer((request, response) => {
    void answer(request.url ?? '/', response, pages);
  });
  await listen(server, options);
  const { address: host, port } = server.address() as AddressInfo;
  return {
    host,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Undefined = all addresses, of both families if the host has both. */
function defaultHost(): string | undefined {
  return process.env.KUBERNETES_SERVICE_HOST ? undefined : '127.0.0.1';
}

function listen(server: Server, { port, host = defaultHost() }: ProbeServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

async function answer(url: string, response: ServerResponse, pages: ProbeServerPages): Promise<void> {
  const [path = '/', query = ''] = url.split('?');
  try {
    switch (path) {
      case '/healthz':
      case '/readyz': {
        const page = report(path.slice(1) as 'healthz' | 'readyz', pages, query.includes('verbose'));
        return send(response, page);
      }
      case '/metrics':
        return send(response, { status: 200, type: pages.metrics.contentType, text: await pages.metrics.metrics() });
      default:
        return send(response, { status: 404, text: '404 page not found\n' });
    }
  } catch (error) {
    send(response, { status: 500, text: `${error instanceof Error ? error.message : String(error)}\n` });
  }
}

interface Page {
  readonly status: number;
  readonly type?: string;
  readonly text: string;
}

/** Formats like kube-apiserver: one line per check when something is wrong or `?verbose` asks for it. */
function report(name: 'healthz' | 'readyz', pages: ProbeServerPages, isVerbose: boolean): Page {
  if (name === 'readyz' && pages.isStopping())
    return { status: 503, text: '[-]shutdown failed: process is shutting down\nreadyz check failed\n' };
  const checks = Object.entries(pages[name]).map(([check, probe]) => ({ check, problem: probe() }));
  const lines = checks.map(({ check, problem }) =>
    problem === undefined ? `[+]${check} ok\n` : `[-]${check} failed: ${problem}\n`,
  );
  const isWell = checks.every(({ problem }) => problem === undefined);
  if (isWell) return { status: 200, text: isVerbose ? `${lines.join('')}${name} check passed\n` : 'ok' };
  return { status: 500, text: `${lines.join('')}${name} check failed\n` };
}

function send(response: ServerResponse, { status, type = 'text/plain; charset=utf-8', text }: Page): void {
  response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' });
  response.end(text);
}
