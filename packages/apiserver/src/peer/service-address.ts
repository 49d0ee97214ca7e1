// ServiceReference names a port of a Service in the cluster; ResolveService finds an address behind it. The server calls
// webhooks and aggregated API servers this way. Source: apiserver util/proxy (ResolveEndpoint, ResolveCluster).

/** A port of a Service, reached through the port {@link ResolveService}. */
export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** The address at which a Service can be reached. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns an address behind a Service. Rejects when there is none. */
export type ResolveService = (service: ServiceReference) => Promise<ServiceAddress>;

/** Returns the name that the certificate of a server behind the Service must be for. */
export function serviceServerName({ name, namespace }: Pick<ServiceReference, 'name' | 'namespace'>): string {
  return `${name}.${namespace}.svc`;
}
