// Announces the server: the service "kubernetes" with its range and endpoints, the server's Lease and authorities, and its
// APIServices. Called by listening.ts once requests are answered.
import { hostname } from 'node:os';
import { firstServiceAddress, serviceNetwork } from '@kapstan/kubernetes';
import type { ApiServiceRegistration } from './api-services/api-service-registration.ts';
import { clientAuthorities } from './certificates/certificates.ts';
import { DefaultServiceCidr } from './kubernetes-service/default-service-cidr.ts';
import { KubernetesService, leaseSeconds } from './kubernetes-service/kubernetes-service.ts';
import { publishedAddress } from './kubernetes-service/published-address.ts';
import { ownLeases, type ServerLeases, sharedLeases } from './kubernetes-service/server-leases.ts';
import { defaultServiceRange } from './kubernetes-service/service-ranges.ts';
import type { Closers } from './lifetime/closers.ts';
import { hooksOfIdentity } from './lifetime/post-start-hooks.ts';
import type { ControlPlaneOptions } from './options/control-plane-options.ts';
import { storedAs } from './options/stored-form.ts';
import { frontProxies, withCertificates } from './server-identity/front-proxy.ts';
import { ServerIdentity } from './server-identity/server-identity.ts';
import type { ServerParts } from './serving.ts';

interface AnnouncedParts
  extends Pick<ServerParts, 'engines' | 'pki' | 'certificates' | 'resources' | 'hooks' | 'clock' | 'logger'> {
  readonly registration: ApiServiceRegistration | undefined;
  readonly port: number;
}

/** Writes the objects by which others find this server. */
export async function announce(
  options: ControlPlaneOptions,
  { closers, registration, ...parts }: AnnouncedParts & { readonly closers: Closers },
): Promise<void> {
  const serviceCidr = defaultServiceCidr(options, parts);
  const service = kubernetesService(options, parts);
  const identity = serverIdentity(options, parts);
  // The parts are closed in parallel, because while the store is away each waits for its own timeout, and a stop would
  // take their sum.
  closers.add('announcement', () =>
    Promise.all([serviceCidr?.close(), service?.close(), identity?.close(), registration?.close()]),
  );
  // The service gets its address from the ServiceCIDR, so the latter comes first.
  const { hooks } = parts;
  const kept = serviceCidr?.start().then(async () => {
    hooks.finish('start-kubernetes-service-cidr-controller');
    await service?.start();
    hooks.finish('bootstrap-controller');
  });
  const known = identity?.start().then(() => hooks.finish(...hooksOfIdentity));
  await Promise.all([kept, known, registration?.start()]);
}

/** Returns undefined when the service "kubernetes" is not created either. */
function defaultServiceCidr(
  options: ControlPlaneOptions,
  parts: Pick<ServerParts, 'resources' | 'clock' | 'logger'>,
): DefaultServiceCidr | undefined {
  const { endpointReconciler = 'off', serviceClusterIpRange = defaultServiceRange } = options;
  if (endpointReconciler === 'off') return undefined;
  const { resources, clock, logger } = parts;
  return new DefaultServiceCidr({
    client: resources.client,
    cidrs: [serviceNetwork(serviceClusterIpRange)],
    clock,
    logger,
  });
}

/** Returns undefined when it is off. */
function kubernetesService(
  options: ControlPlaneOptions,
  parts: Omit<AnnouncedParts, 'registration'>,
): KubernetesService | undefined {
  const { endpointReconciler = 'off', etcd, keyPrefix } = options;
  const { engines, resources, clock, logger, port } = parts;
  if (endpointReconciler === 'off') return undefined;
  const isAlone = etcd === undefined;
  const address = publishedAddress(options);
  if (address === undefined)
    logger.warn(
      'this server has no address that others can reach, so it is not added to the endpoints of the service "kubernetes"; set --advertise-address',
    );
  const endpoints = resources.catalog.find('', 'v1', 'endpoints')?.definition;
  const shared = (): ServerLeases | 'none' =>
    endpoints === undefined
      ? 'none'
      : sharedLeases({
          engine: engines.main,
          endpoints,
          storedAs: storedAs(options),
          ttlSeconds: leaseSeconds,
          keyPrefix,
        });
  const leases = endpointReconciler === 'none' ? 'none' : isAlone ? ownLeases() : shared();
  const clusterIp = firstServiceAddress(options.serviceClusterIpRange ?? defaultServiceRange);
  return new KubernetesService({ client: resources.client, clusterIp, address, port, leases, isAlone, clock, logger });
}

/** Returns undefined when it is off. */
function serverIdentity(
  { identity = 'off', frontProxy = {} }: ControlPlaneOptions,
  parts: Omit<AnnouncedParts, 'registration'>,
): ServerIdentity | undefined {
  if (identity === 'off') return undefined;
  const { pki, certificates, resources, port, clock, logger } = parts;
  const { client } = resources;
  const hasLease = identity === 'on';
  const own = new ServerIdentity({
    client,
    hostname: hostname(),
    port,
    trusted: () => ({
      clientAuthorities: clientAuthorities(pki, certificates.current.clientCa),
      frontProxies: frontProxies(withCertificates(frontProxy, certificates.current), pki.frontProxy),
    }),
    hasLease,
    clock,
    logger,
  });
  certificates.onChange(() => own.publishTrusted());
  return own;
}
