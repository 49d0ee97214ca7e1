// ProbeServer serves /healthz, /readyz and /metrics of a manager over plain HTTP, for probes and for Prometheus.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { InspectorHandler } from '@kapstan/inspector';
import type { Registry } from 'prom-client';

/** Returns the problem; undefined = none. Never rejects. */
export type Probe = () => string | undefined | Promise<string | undefined>;

/** Address of /metrics, /healthz and /readyz. */
export interface ProbeServerOptions {
  /** 0 = any free port. */
  readonly port: number;
  /**
   * Address to listen at. Default: in a pod (if KUBERNETES_SERVICE_HOST is set) all addresses, because the kubelet and
   * Prometheus connect from outside; otherwise 127.0.0.1, because there is no authentication.
   */
  readonly host?: string;
}

export interface ProbeServerPages {
  readonly healthz: Readonly<Record<string, Probe>>;
  readonly readyz: Readonly<Record<string, Probe>>;
  readonly metrics: Registry;
  /** Answers paths below /inspect. Undefined = it is off, or served elsewhere. */
  readonly inspector?: InspectorHandler | undefined;
  /** True = /readyz answers 503, so that no more requests are sent here. */
  readonly isStopping: () => boolean;
}

export interface ProbeServer {
  readonly host: string;
  readonly port: number;
  /** Stops listening and ends connections. Idempotent. */
  close(): Promise<void>;
}

/** Resolves once it listens. Rejects when it cannot. */
export async function startProbeServer(options: ProbeServerOptions, pages: ProbeServerPages): Promise<ProbeServer> {
  const server = createServer((request, response) => {
    const url = request.url ?? '/';
    const { inspector } = pages;
    if (inspector?.handles(url.split('?', 1)[0] ?? '')) void inspector.serve(request, response);
    else void answer(url, response, pages);
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
      case '/readyz':
        return send(response, await report(path.slice(1) as ProbeName, pages, new URLSearchParams(query)));
      case '/metrics':
        return send(response, { status: 200, type: pages.metrics.contentType, text: await pages.metrics.metrics() });
      default:
        return send(response, (await reportOne(path, pages)) ?? { status: 404, text: '404 page not found\n' });
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

type ProbeName = 'healthz' | 'readyz';

/** Answers "/readyz/informers", one check of a page; undefined = there is no check of that name. */
async function reportOne(path: string, pages: ProbeServerPages): Promise<Page | undefined> {
  const [, page = '', check = ''] = /^\/(healthz|readyz)\/([^/]+)$/.exec(path) ?? [];
  const probes = page === '' ? {} : pages[page as ProbeName];
  const probe = Object.hasOwn(probes, check) ? probes[check] : undefined;
  if (probe === undefined) return undefined;
  if (page === 'readyz' && pages.isStopping()) return { status: 503, text: `${check}: process is shutting down\n` };
  const problem = await probe();
  return problem === undefined ? { status: 200, text: 'ok' } : { status: 500, text: `${check}: ${problem}\n` };
}

/**
 * Formats like kube-apiserver: one line per check when something is wrong or `?verbose` requests it. `?exclude=NAME` leaves a check out.
 */
async function report(name: ProbeName, pages: ProbeServerPages, query: URLSearchParams): Promise<Page> {
  if (name === 'readyz' && pages.isStopping())
    return { status: 503, text: '[-]shutdown failed: process is shutting down\nreadyz check failed\n' };
  const excluded = new Set(query.getAll('exclude'));
  const asked = Object.entries(pages[name]).filter(([check]) => !excluded.has(check));
  const checks = await Promise.all(asked.map(async ([check, probe]) => ({ check, problem: await probe() })));
  const lines = checks.map(({ check, problem }) =>
    problem === undefined ? `[+]${check} ok\n` : `[-]${check} failed: ${problem}\n`,
  );
  const isWell = checks.every(({ problem }) => problem === undefined);
  if (isWell) return { status: 200, text: query.has('verbose') ? `${lines.join('')}${name} check passed\n` : 'ok' };
  return { status: 500, text: `${lines.join('')}${name} check failed\n` };
}

function send(response: ServerResponse, { status, type = 'text/plain; charset=utf-8', text }: Page): void {
  response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' });
  response.end(text);
}
