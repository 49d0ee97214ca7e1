// WebhookTarget: where a webhook listens, as in a clientConfig. Called through webhook-pool.ts. Source: apiserver
// util/webhook ClientConfig.
import { type ServiceReference, serviceServerName } from '../peer/service-address.ts';
import { formatGoDuration } from '../schema/go/go-duration.ts';

/** A Service in the cluster, reached through the port `ResolveService`. */
export interface WebhookService extends ServiceReference {
  /** Path of the request. Default "/". */
  readonly path?: string;
}

/** In PEM. */
export interface WebhookKeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Says how the server proves its identity to a webhook, and how it checks the webhook's certificate. */
export interface WebhookIdentity {
  /** Returns the client certificate and its key, PEM. It is called for each request, because certificates are rotated. */
  readonly certificate?: (() => WebhookKeyPair | Promise<WebhookKeyPair>) | undefined;
  /** Returns the header Authorization. It is called for each request, because tokens change. */
  readonly authorization?: (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Name in the webhook's certificate. Default: the host of the URL. */
  readonly serverName?: string | undefined;
  /** True = any certificate of the webhook is accepted. Default false. */
  readonly trustsAnyone?: boolean | undefined;
}

/** The address of a webhook. Exactly one of `url` and `service` is given. */
export interface WebhookTarget {
  /** https URL without query and fragment. */
  readonly url?: string;
  readonly service?: WebhookService;
  /** PEM certificates of the authorities to trust. Absent or blank = the system's authorities. */
  readonly caBundle?: string | undefined;
  /** Default: the server shows no credentials. */
  readonly identity?: WebhookIdentity | undefined;
}

/** A clientConfig of the API. */
interface TargetConfig {
  readonly url?: string | undefined;
  readonly service?:
    | { readonly namespace: string; readonly name: string; readonly port?: number; readonly path?: string }
    | undefined;
  /** In base64. */
  readonly caBundle?: string | undefined;
}

/** Returns the target that a clientConfig names. */
export function webhookTarget({ url, service, caBundle }: TargetConfig): WebhookTarget {
  return {
    ...(caBundle ? { caBundle: Buffer.from(caBundle, 'base64').toString('utf8') } : {}),
    ...(url ? { url } : {}),
    ...(service ? { service: { ...service, port: service.port ?? 443 } } : {}),
  };
}

/** A target as requests need it. */
export interface WebhookAddress {
  /** The URL with its query, as errors show it. */
  readonly url: string;
  readonly hostname: string;
  readonly port: number;
  /** Path with the query. */
  readonly path: string;
  /** Value of the header Host. */
  readonly host: string;
  /** Name that the certificate must be for. Empty = `hostname`, which is an IP address then. */
  readonly servername: string;
  readonly service: WebhookService | undefined;
}

interface KnownAddress {
  readonly timeoutSeconds: number;
  readonly address: WebhookAddress;
}

/** The last address of each target. A target does not change, and one webhook is asked with one time limit. */
const knownAddresses = new WeakMap<WebhookTarget, KnownAddress>();

/** Returns the address with the query `timeout=…`, which webhooks read to give up in time. Throws TypeError for a bad URL. */
export function webhookAddress(target: WebhookTarget, timeoutSeconds: number): WebhookAddress {
  const known = knownAddresses.get(target);
  if (known?.timeoutSeconds === timeoutSeconds) return known.address;
  const address = readAddress(target, timeoutSeconds);
  knownAddresses.set(target, { timeoutSeconds, address });
  return address;
}

function readAddress(target: WebhookTarget, timeoutSeconds: number): WebhookAddress {
  const { service } = target;
  const base = service === undefined ? target.url : serviceUrl(service);
  if (base === undefined) throw new TypeError('webhook configuration must have either service or URL');
  const url = new URL(base);
  url.searchParams.set('timeout', formatGoDuration(timeoutSeconds * 1000));
  const host = service === undefined ? url.host : serviceHost(service);
  return {
    // `URL` drops port 443, which Kubernetes shows for a Service.
    url: `https://${host}${url.pathname}${url.search}`,
    ...destinationOf(url),
    host,
    servername: servernameOf(url, target),
    service,
  };
}

/** Returns the address to which a webhook redirects. The Service of the target is reached in the same way as at first. */
export function placeAddress(url: URL, target: WebhookTarget): WebhookAddress {
  const { service } = target;
  const host = `${url.hostname}:${url.port || 443}`;
  const isService = service !== undefined && host === serviceHost(service);
  // Go looks for the name of the Service in all certificates of the call.
  const { identity } = target;
  const serverName = identity?.serverName ?? (service && serviceServerName(service));
  return {
    url: url.href,
    ...destinationOf(url),
    host: isService ? host : url.host,
    servername: servernameOf(url, { identity: { ...identity, serverName } }),
    service: isService ? service : undefined,
  };
}

function destinationOf(url: URL): Pick<WebhookAddress, 'hostname' | 'port' | 'path'> {
  return {
    hostname: hostnameOf(url),
    port: url.port === '' ? 443 : Number(url.port),
    path: `${url.pathname}${url.search}`,
  };
}

function servernameOf(url: URL, { identity }: Pick<WebhookTarget, 'identity'>): string {
  const hostname = hostnameOf(url);
  return identity?.serverName ?? (isAddress(hostname) ? '' : hostname);
}

function hostnameOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function serviceHost(service: WebhookService): string {
  return `${serviceServerName(service)}:${service.port}`;
}

function serviceUrl(service: WebhookService): string {
  const { path = '/' } = service;
  return `https://${serviceHost(service)}${path.startsWith('/') ? path : `/${path}`}`;
}

function isAddress(hostname: string): boolean {
  return hostname.includes(':') || /^[0-9.]+$/.test(hostname);
}
