// Makes a control plane reachable, with the parts that exist only when it listens. Called by control-plane.ts at the
// end of a start.
import type { Clock, Logger } from '@kapstan/api';
import type { ApiServer, HealthCheck } from '@kapstan/apiserver';
import { announce } from './announcement.ts';
import { Aggregation } from './api-services/aggregation.ts';
import { ApiServiceRegistration } from './api-services/api-service-registration.ts';
import { clientAuthorities } from './certificates/certificates.ts';
import { FollowedCertificates } from './certificates/followed-certificates.ts';
import { formatKubeconfig } from './certificates/kubeconfig-file.ts';
import { writePrivateFile } from './certificates/private-file.ts';
import type { ServiceAddressRepair } from './kubernetes-service/service-address-repair.ts';
import type { Closers } from './lifetime/closers.ts';
import { unlessAborted } from './lifetime/unless-aborted.ts';
import type { ControlPlane, ControlPlaneOptions } from './options/control-plane-options.ts';
import {
  frontProxies,
  proxyCertificate,
  refuseSharedAuthority,
  withCertificates,
} from './server-identity/front-proxy.ts';
import { reachableUrl } from './server-identity/server-address.ts';
import { ServerInspector } from './server-inspector/server-inspector.ts';
import { type ServerParts, startServing } from './serving.ts';

/** The parts that are open before the server listens. */
export interface OpenedParts
  extends Omit<ServerParts, 'aggregation' | 'certificates' | 'inspector' | 'healthChecks' | 'clock' | 'logger'> {
  readonly bootstrapRoles: HealthCheck;
  readonly addressRepair: ServiceAddressRepair;
}

interface ListeningPorts {
  /** Receives each started part. */
  readonly closers: Closers;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Rejects with a StartError for the port or the address when either cannot be used. */
export async function listen(
  options: ControlPlaneOptions,
  { bootstrapRoles, addressRepair, ...opened }: OpenedParts,
  ports: ListeningPorts,
): Promise<Omit<ControlPlane, 'close' | 'token' | 'client'>> {
  const { pki, resources, hooks } = opened;
  const { closers, clock, logger } = ports;
  const { signal } = options;
  const aggregation = await startAggregation(options, { pki, resources, ...ports });
  const registration = apiServiceRegistration(options, { resources, hooks, clock, logger });
  const healthChecks = registration === undefined ? [bootstrapRoles] : [bootstrapRoles, registration.healthCheck];
  const inspector = await openInspector(options, { ...opened, ...ports });
  const certificates = followedCertificates(options, { clock, logger });
  closers.add('certificates', () => certificates.close());
  const parts = { ...opened, certificates, aggregation, inspector, healthChecks, clock, logger };
  const server = await startServing(options, parts);
  closers.add('requests', () => server.close());
  inspector?.follow(server);
  // Streams end before the server waits for requests under way.
  closers.add('streams of the inspector', () => inspector?.close());
  await announce(options, { ...parts, registration, closers, port: server.port });
  followCertificates(options, { pki, server, aggregation, certificates });
  if (options.endpointReconciler !== undefined && options.endpointReconciler !== 'off') addressRepair.follow();
  signal?.throwIfAborted();
  const url = reachableUrl(server.url, options);
  return {
    url,
    port: server.port,
    caCert: pki.trusted.cert,
    caFile: pki.trusted.file,
    inspectorUrl: typeof options.inspect === 'object' ? ((await inspector?.listen(options.inspect.port)) ?? '') : '',
    kubeconfig: formatKubeconfig({ url, caCert: pki.trusted.cert, admin: pki.admin }),
  };
}

function followedCertificates(
  { serving, clientCa, frontProxy = {}, kubelet = {}, certificateFiles: files = {} }: ControlPlaneOptions,
  ports: Pick<ServerParts, 'clock' | 'logger'>,
): FollowedCertificates {
  const { clientCert: cert, clientKey: key, ca: kubeletCa } = kubelet;
  const kubeletClient = cert === undefined || key === undefined ? undefined : { cert, key };
  const { clientCa: frontProxyCa, client: proxyClient } = frontProxy;
  const certificates = { serving, clientCa, frontProxyCa, proxyClient, kubeletClient, kubeletCa };
  return new FollowedCertificates({ certificates, files, ...ports });
}

/** Applies certificates whose files change. */
function followCertificates(
  { frontProxy: asked = {} }: ControlPlaneOptions,
  { pki, server, aggregation, certificates }: FollowingParts,
): void {
  certificates.onChange(async ({ serving }, changed) => {
    if (changed === 'serving' && serving !== undefined) await writePrivateFile(pki.trusted.file, serving.cert);
  });
  certificates.follow((next, changed) => {
    if (changed === 'kubeletClient' || changed === 'kubeletCa') {
      const { kubeletClient: { cert: clientCert, key: clientKey } = {}, kubeletCa: ca } = next;
      return server.useKubeletCertificates({ clientCert, clientKey, ca });
    }
    const frontProxy = withCertificates(asked, next);
    const clientCa = clientAuthorities(pki, next.clientCa);
    refuseSharedAuthority(frontProxy, clientCa);
    const tls = { ...(next.serving ?? pki.serving), clientCa };
    server.useCertificates({ tls, frontProxyCa: frontProxies(frontProxy, pki.frontProxy)?.clientCa });
    if (changed === 'proxyClient') aggregation?.useProxyCertificate(proxyCertificate(frontProxy, pki.frontProxy));
  });
}

interface FollowingParts extends Pick<ServerParts, 'pki' | 'certificates' | 'aggregation'> {
  readonly server: ApiServer;
}

/** Returns undefined when registration is off. */
function apiServiceRegistration(
  { registersApiServices = false }: ControlPlaneOptions,
  { resources: { client, served }, ...ports }: Pick<ServerParts, 'resources' | 'hooks' | 'clock' | 'logger'>,
): ApiServiceRegistration | undefined {
  return registersApiServices ? new ApiServiceRegistration({ client, served, ...ports }) : undefined;
}

/**
 * Reads the stored APIServices before the first request, which might otherwise go to the wrong server. Returns undefined when aggregation
 * is off.
 */
async function startAggregation(
  { registersApiServices = false, frontProxy = {}, aggregation: settings = {}, signal }: ControlPlaneOptions,
  { pki, resources, closers, clock, logger }: ListeningPorts & Pick<ServerParts, 'pki' | 'resources'>,
): Promise<Aggregation | undefined> {
  if (!registersApiServices) return undefined;
  const aggregation = new Aggregation({
    client: resources.client,
    proxyCertificate: proxyCertificate(frontProxy, pki.frontProxy),
    endpointsOnly: settings.endpointsOnly ?? false,
    rejectsRedirects: settings.rejectsRedirects ?? true,
    clock,
    logger,
  });
  closers.add('aggregation', () => aggregation.close());
  aggregation.start();
  const synced = aggregation.whenSynced().catch(() => undefined);
  if (resources.isReady()) await unlessAborted(synced, signal);
  return aggregation;
}

/** Returns undefined where it is off. */
async function openInspector(
  { inspect = false }: ControlPlaneOptions,
  { engines, resources, loops, closers, clock }: ListeningPorts & Pick<ServerParts, 'engines' | 'resources' | 'loops'>,
): Promise<ServerInspector | undefined> {
  if (inspect === false) return undefined;
  const inspector = await ServerInspector.open({
    caches: () => resources.caches(),
    engines: engines.all,
    loops: () => loops.inspected,
    clock,
  });
  closers.add('inspector', () => inspector.close());
  return inspector;
}
