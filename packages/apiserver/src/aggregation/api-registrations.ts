// ApiRegistrations knows who serves each group version, and what other API servers report about their group versions.
// The program fills it from stored objects; the request chain, discovery and OpenAPI read it. Source: kube-aggregator
// apiserver.go (AddAPIService, RemoveAPIService).
import { isDeepStrictEqual } from 'node:util';
import type { ResolveService } from '../peer/service-address.ts';
import { type ApiRegistration, type RemoteApi, rootPathOf } from './api-registration.ts';
import type { ConvertedDocument } from './converted-openapi.ts';
import type { RemoteDiscovery } from './remote-discovery.ts';
import type { RemoteOpenApi } from './remote-openapi.ts';
import { type ProxyCertificate, RemoteServer } from './remote-server.ts';
import type { RemoteSwagger } from './remote-swagger.ts';

const openApiRoot = '/openapi/v3/';

/** Options of {@link ApiRegistrations}. */
export interface ApiRegistrationsOptions {
  readonly resolveService: ResolveService;
  /** The certificate that this server presents to others. Default none, so that they accept no identity from it. */
  readonly proxyCertificate?: ProxyCertificate | undefined;
  /**
   * Maximum number of requests under way at one server, including watches and upgraded connections; more get 429.
   * Default 1 000.
   */
  readonly maxConnections?: number | undefined;
  /** False: a redirect of another server reaches the client. Default true. */
  readonly rejectsRedirects?: boolean | undefined;
}

/** The group versions of other API servers, by name, with their availability and the address of their servers. */
export class ApiRegistrations {
  readonly rejectsRedirects: boolean;
  readonly #options: ApiRegistrationsOptions;
  #proxyCertificate: ProxyCertificate | undefined;
  readonly #all = new Map<string, ApiRegistration>();
  readonly #servers = new Map<string, RemoteServer>();
  /** Servers by the path that contains everything of their group version. */
  readonly #byPath = new Map<string, RemoteServer>();
  readonly #discovery = new Map<string, RemoteDiscovery>();
  readonly #openApi = new Map<string, RemoteOpenApi>();
  readonly #converted = new Map<string, ConvertedDocument>();
  readonly #swagger = new Map<string, { readonly part: RemoteSwagger; readonly hash: string }>();
  #generation = 0;

  constructor(options: ApiRegistrationsOptions) {
    this.#options = options;
    this.#proxyCertificate = options.proxyCertificate;
    this.rejectsRedirects = options.rejectsRedirects ?? true;
  }

  /** Changes whenever documents made of this may change. */
  get generation(): number {
    return this.#generation;
  }

  get all(): Iterable<ApiRegistration> {
    return this.#all.values();
  }

  get servers(): Iterable<RemoteServer> {
    return this.#servers.values();
  }

  find(name: string): ApiRegistration | undefined {
    return this.#all.get(name);
  }

  serverOf(name: string): RemoteServer | undefined {
    return this.#servers.get(name);
  }

  /** Returns the server to which requests for the path go; undefined when this server answers them. */
  at(path: string): RemoteServer | undefined {
    return this.#byPath.size === 0 ? undefined : this.#byPath.get(rootOf(path));
  }

  discoveryOf(name: string): RemoteDiscovery | undefined {
    return this.#discovery.get(name);
  }

  /** Adds or replaces a registration. Requests under way at a server that is no longer named continue. */
  set(registration: ApiRegistration): void {
    const before = this.#all.get(registration.name);
    if (isDeepStrictEqual(before, registration)) return;
    this.#generation += 1;
    this.#all.set(registration.name, registration);
    const { remote } = registration;
    if (remote === undefined) return this.#dropServer(registration.name);
    const present = this.#servers.get(registration.name);
    if (present?.follow(registration) === true) return;
    this.#setServer(registration, remote);
  }

  /** Presents another certificate over new connections. Requests under way continue. */
  useProxyCertificate(certificate: ProxyCertificate): void {
    this.#proxyCertificate = certificate;
    for (const { registration, remote } of [...this.#servers.values()]) this.#setServer(registration, remote);
  }

  delete(name: string): void {
    const registration = this.#all.get(name);
    if (registration === undefined) return;
    this.#generation += 1;
    this.#dropServer(name);
    this.#all.delete(name);
  }

  /** Keeps the resources that the server of a registration reports. */
  setDiscovery(name: string, found: RemoteDiscovery): void {
    if (!this.#servers.has(name)) return;
    this.#discovery.set(name, found);
    this.#generation += 1;
  }

  /**
   * Keeps the schemas that the server of a registration reports. Only documents of its own group version count, because
   * no server may speak for another's.
   */
  setOpenApi(name: string, found: RemoteOpenApi): void {
    const server = this.#servers.get(name);
    if (server === undefined) return;
    const own = rootPathOf(server.registration).slice(1);
    const { group } = server.registration;
    const isAlone = ![...this.#all.values()].some((other) => other.group === group && other.remote === undefined);
    const keys = group !== '' && isAlone ? [own, `apis/${group}`] : [own];
    const paths = [...found.paths].filter(([path]) => keys.includes(path) || (group === '' && path.startsWith('api/')));
    this.#openApi.set(name, { paths: new Map(paths) });
    this.#converted.delete(name);
    this.#generation += 1;
  }

  /** Keeps an OpenAPI v3 document that was made from v2, for the server of a registration that has no v3 itself. */
  setConverted(name: string, document: ConvertedDocument): void {
    if (!this.#servers.has(name)) return;
    this.#converted.set(name, document);
    this.#openApi.delete(name);
    this.#generation += 1;
  }

  hasConverted(name: string): boolean {
    return this.#converted.has(name);
  }

  /** Returns the document at a path of the index that this server answers for another; undefined when there is none. */
  convertedAt(path: string): ConvertedDocument | undefined {
    if (this.#converted.size === 0) return undefined;
    const server = this.#byPath.get(`/${path}`);
    return server && this.#converted.get(server.registration.name);
  }

  /** Keeps the OpenAPI v2 schemas that the server of a registration reports. `hash`: of the document it sent. */
  setSwagger(name: string, part: RemoteSwagger, hash: string): void {
    if (this.#servers.has(name)) this.#swagger.set(name, { part, hash });
  }

  /** Changes with the content of {@link ApiRegistrations.swagger}; "" = it is empty. Every process computes the same key. */
  get swaggerKey(): string {
    return [...this.#swagger]
      .map(([name, { hash }]) => `${name} ${hash}`)
      .sort()
      .join('\n');
  }

  /** Parts of other servers in the OpenAPI v2 document, by falling priority. */
  get swagger(): readonly RemoteSwagger[] {
    const all = [...this.#swagger].flatMap(([name, { part }]) => {
      const registration = this.#all.get(name);
      return registration === undefined ? [] : [{ registration, part }];
    });
    return all.sort((a, b) => byPriority(a.registration, b.registration)).map(({ part }) => part);
  }

  /** Returns the entries of other servers in the index of OpenAPI v3. */
  get openApiPaths(): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
    const converted = [...this.#converted].flatMap(
      ([name, { hash }]): [string, Readonly<Record<string, unknown>>][] => {
        const server = this.#servers.get(name);
        if (server === undefined) return [];
        const path = rootPathOf(server.registration);
        return [[path.slice(1), { serverRelativeURL: `/openapi/v3${path}?hash=${hash}` }]];
      },
    );
    return new Map([...converted, ...[...this.#openApi.values()].flatMap(({ paths }) => [...paths])]);
  }

  /** Returns the server that answers for a document of OpenAPI v3; undefined when this server does. */
  schemasAt(path: string): RemoteServer | undefined {
    if (this.#openApi.size === 0 || !path.startsWith(openApiRoot)) return undefined;
    const key = path.slice(openApiRoot.length);
    const found = [...this.#openApi].find(([, { paths }]) => paths.has(key));
    return found && this.#servers.get(found[0]);
  }

  /** Cuts all connections to other servers. Idempotent. */
  close(): void {
    for (const server of this.#servers.values()) server.close();
  }

  #setServer(registration: ApiRegistration, remote: RemoteApi): void {
    const { resolveService, maxConnections = 1000 } = this.#options;
    const ports = { resolveService, proxyCertificate: this.#proxyCertificate, maxConnections };
    this.#servers.get(registration.name)?.dropIdle();
    const server = new RemoteServer(registration, remote, ports);
    this.#servers.set(registration.name, server);
    this.#byPath.set(rootPathOf(registration), server);
  }

  #dropServer(name: string): void {
    const server = this.#servers.get(name);
    if (server === undefined) return;
    server.dropIdle();
    this.#servers.delete(name);
    this.#byPath.delete(rootPathOf(server.registration));
    this.#discovery.delete(name);
    this.#openApi.delete(name);
    this.#converted.delete(name);
    this.#swagger.delete(name);
  }
}

/** Returns "/apis/GROUP/VERSION" or "/api" of a path at or below it; "" of any other. */
function rootOf(path: string): string {
  if (path === '/api' || path.startsWith('/api/')) return '/api';
  if (!path.startsWith('/apis/')) return '';
  const group = path.indexOf('/', '/apis/'.length);
  if (group < 0) return '';
  const version = path.indexOf('/', group + 1);
  return version < 0 ? path : path.slice(0, version);
}

function byPriority(a: ApiRegistration, b: ApiRegistration): number {
  const [left, right] =
    a.group === b.group ? [a.versionPriority, b.versionPriority] : [a.groupPriority, b.groupPriority];
  return right - left || (a.name < b.name ? -1 : 1);
}
