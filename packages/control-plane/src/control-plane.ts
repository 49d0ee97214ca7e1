// startControlPlane: the whole server in this process: engine, stores, custom resources, HTTPS, first objects.
// Everything below is a package of its own; here they are put together and taken apart again, in reverse order.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { type HealthCheck, parseTokenFile, type ResourceCodecOptions, type UserInfo } from '@kapstan/apiserver';
import { firstServiceAddress, readSigningKey, readVerificationKeys, serviceNetwork } from '@kapstan/kubernetes';
import type { Engine } from '@kapstan/storage';
import type { AccessControlOptions, ServiceAccountOptions } from './access-control.ts';
import { ApiServiceRegistration } from './api-services/api-service-registration.ts';
import { openAudit } from './audit.ts';
import { BootstrapRoles } from './bootstrap-roles.ts';
import { clientAuthorities, ensurePki, type Pki } from './certificates/certificates.ts';
import { checkAuthorities, checkKeyPair } from './certificates/key-pair.ts';
import { formatKubeconfig } from './certificates/kubeconfig-file.ts';
import { writePrivateFile } from './certificates/private-file.ts';
import { ensureServiceAccountKey } from './certificates/service-account-key.ts';
import type { ControlPlane, ControlPlaneOptions } from './control-plane-options.ts';
import type { EncryptionAtRest, EncryptionOptions } from './encryption-config/encryption-at-rest.ts';
import { createFirstObjects } from './first-objects.ts';
import { DefaultServiceCidr } from './kubernetes-service/default-service-cidr.ts';
import { KubernetesService, leaseSeconds } from './kubernetes-service/kubernetes-service.ts';
import { NodePortRepair } from './kubernetes-service/node-port-repair.ts';
import { publishedAddress } from './kubernetes-service/published-address.ts';
import { ownLeases, type ServerLeases, sharedLeases } from './kubernetes-service/server-leases.ts';
import { ServiceAddressRepair } from './kubernetes-service/service-address-repair.ts';
import { hooksOfIdentity, hooksOfResources, PostStartHooks } from './post-start-hooks.ts';
import { RbacFeed } from './rbac-feed.ts';
import { openResources, type Resources } from './resources.ts';
import { certificateHosts, reachableUrl } from './server-address.ts';
import { ServerIdentity } from './server-identity/server-identity.ts';
import { type ServerParts, startServing } from './serving.ts';
import { startingWith } from './start-error.ts';
import { startStoreCompactor } from './store/store-compactor.ts';
import { openStoreEngines } from './store/store-engines.ts';
import { wantedLoops } from './wanted-loops.ts';

/**
 * Resolves when requests are answered. Rejects, with everything closed again, when something cannot start: with StartError
 * where that is for an option and its message does not name it, and with TypeError for the name of an unknown control loop.
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? silentLogger;
  const closers: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeAll(closers);
    return closing;
  };
  try {
    return { ...(await start(options, { closers, clock, logger })), close };
  } catch (error) {
    // What went wrong first is what has to be told.
    await close().catch((cause: unknown) =>
      logger.error('A failed start was not closed cleanly', { error: String(cause) }),
    );
    throw error;
  }
}

/** Each part that is there has its end among the closers. */
async function start(
  options: ControlPlaneOptions,
  { closers, clock, logger }: Pick<AuthorizationPorts, 'closers' | 'clock' | 'logger'>,
): Promise<Omit<ControlPlane, 'close'>> {
  const { signal } = options;
  signal?.throwIfAborted();
  checkCertificates(options);
  const encryption = await startingWith('encryption', () => openEncryption(options.encryption, { clock, logger }));
  closers.push(async () => encryption?.close());
  const audit = await openAudit(options.audit, { clock, logger });
  closers.push(async () => audit?.log.close());
  const engines = await openStoreEngines(options, { closers, clock, logger });
  signal?.throwIfAborted();
  closers.push(compaction(engines.main, { ...options, clock, logger }));
  const token = randomBytes(24).toString('base64url');
  const access = await accessOptions(options, token);
  const { addressTypes } = options.kubelet ?? {};
  const kubelets = addressTypes === undefined ? {} : { kubeletAddressTypes: addressTypes };
  const stores = { ...options, ...kubelets, storedAs: storedAs(options), encryption };
  const opening = openResources(engines, { ...stores, access, clock, logger }).then((opened) => {
    closers.push(() => opened.close());
    return opened;
  });
  const issuing = options.http === 'off' ? undefined : openPki(options, clock);
  // Side by side; and when one fails nothing of the other goes on behind it.
  await Promise.allSettled([opening, issuing]);
  const [resources, pki] = [await opening, await issuing];
  signal?.throwIfAborted();
  const { client } = resources;
  const hooks = new PostStartHooks(options);
  const addressRepair = await prepareObjects(options, { resources, hooks, clock, logger, closers });
  const bootstrapRoles = await startAuthorization(resources, { closers, clock, logger, signal, hooks });
  const loops = wantedLoops(options, { resources, caCert: pki?.trusted.cert, clock, logger });
  closers.push(() => loops.close());
  loops.start();
  // Where something cannot be read, loops may never be ready: they go on trying, and /readyz tells.
  if (resources.isReady()) await unlessAborted(loops.whenReady(), signal);
  if (pki === undefined) return { ...noServer, client };
  const registration = apiServiceRegistration(options, { resources, hooks, clock, logger });
  const healthChecks = registration === undefined ? [bootstrapRoles] : [bootstrapRoles, registration.healthCheck];
  const parts = { engines, pki, resources, hooks, healthChecks, loops, encryption, audit, clock, logger };
  const server = await startServing(options, parts);
  closers.push(() => server.close());
  await announce(options, { ...parts, registration, closers, port: server.port });
  if (options.endpointReconciler !== undefined && options.endpointReconciler !== 'off') addressRepair.follow();
  signal?.throwIfAborted();
  const url = reachableUrl(server.url, options);
  return {
    url,
    port: server.port,
    caCert: pki.trusted.cert,
    caFile: pki.trusted.file,
    token,
    kubeconfig: formatKubeconfig({ url, caCert: pki.trusted.cert, admin: pki.admin }),
    client,
  };
}

/** Roles and bindings as a server has to have them, known to the authorizer before the first request. */
async function startAuthorization(
  resources: Resources,
  { closers, clock, logger, signal, hooks }: AuthorizationPorts,
): Promise<HealthCheck> {
  const { client, access } = resources;
  const roles = new BootstrapRoles({ client, isReady: () => resources.isReady(), clock, logger });
  closers.push(() => roles.close());
  await roles.start();
  const feed = new RbacFeed({ client, policy: access.policy, clock, logger });
  closers.push(() => feed.close());
  feed.start();
  const informed = feed.whenSynced().then(
    () => hooks.finish('generic-apiserver-start-informers'),
    // Closed before.
    () => undefined,
  );
  if (resources.isReady()) await unlessAborted(informed, signal);
  return roles.healthCheck;
}

interface AuthorizationPorts {
  readonly closers: (() => Promise<void>)[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
  readonly hooks: PostStartHooks;
}

interface AnnouncedParts extends Pick<ServerParts, 'engines' | 'pki' | 'resources' | 'hooks' | 'clock' | 'logger'> {
  readonly registration: ApiServiceRegistration | undefined;
  readonly port: number;
}

/** Makes the server known to others, by what it keeps in the store about itself. */
async function announce(
  options: ControlPlaneOptions,
  { closers, registration, ...parts }: AnnouncedParts & { readonly closers: (() => Promise<void>)[] },
): Promise<void> {
  const serviceCidr = defaultServiceCidr(options, parts);
  const service = kubernetesService(options, parts);
  const identity = serverIdentity(options, parts);
  // At once: where the store is away, each gives up after a time of its own, and who stops a server waits for their sum.
  closers.push(async () => {
    await Promise.all([serviceCidr?.close(), service?.close(), identity?.close(), registration?.close()]);
  });
  // The service gets its address from the network.
  const { hooks } = parts;
  const kept = serviceCidr?.start().then(async () => {
    hooks.finish('start-kubernetes-service-cidr-controller');
    await service?.start();
    hooks.finish('bootstrap-controller');
  });
  const known = identity?.start().then(() => hooks.finish(...hooksOfIdentity));
  await Promise.all([kept, known, registration?.start()]);
}

/** The objects that every cluster has; and what services were given is looked at. */
async function prepareObjects(
  options: ControlPlaneOptions,
  ports: Omit<AuthorizationPorts, 'signal'> & Pick<ServerParts, 'resources'>,
): Promise<ServiceAddressRepair> {
  const { resources, hooks } = ports;
  hooks.finish(...hooksOfResources);
  await createFirstObjects(resources.client);
  hooks.finish('start-system-namespaces-controller', 'scheduling/bootstrap-system-priority-classes');
  const repair = await serviceAddressRepair(options, ports);
  await startNodePortRepair(resources, ports);
  hooks.finish('start-service-ip-repair-controllers');
  return repair;
}

async function serviceAddressRepair(
  { serviceClusterIpRange = defaultServiceRange }: ControlPlaneOptions,
  { resources, clock, logger, closers }: Omit<AuthorizationPorts, 'signal' | 'hooks'> & Pick<ServerParts, 'resources'>,
): Promise<ServiceAddressRepair> {
  const { client } = resources;
  const repair = new ServiceAddressRepair({ client, ownRange: serviceNetwork(serviceClusterIpRange), clock, logger });
  closers.push(() => repair.close());
  await repair.lookAtAll();
  return repair;
}

async function startNodePortRepair(
  { client, nodePorts }: Resources,
  { clock, logger, closers }: Omit<AuthorizationPorts, 'signal' | 'hooks'>,
): Promise<void> {
  if (nodePorts === undefined) return;
  const repair = new NodePortRepair({ client, nodePorts, clock, logger });
  closers.push(() => repair.close());
  await repair.start();
}

/** Undefined where the service "kubernetes" is not made either. */
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

/** Undefined where it is off. */
function apiServiceRegistration(
  { registersApiServices = false }: ControlPlaneOptions,
  { resources: { client, served }, ...ports }: Pick<ServerParts, 'resources' | 'hooks' | 'clock' | 'logger'>,
): ApiServiceRegistration | undefined {
  return registersApiServices ? new ApiServiceRegistration({ client, served, ...ports }) : undefined;
}

/** Undefined where it is off. */
function kubernetesService(
  options: ControlPlaneOptions,
  parts: Omit<AnnouncedParts, 'registration'>,
): KubernetesService | undefined {
  const { endpointReconciler = 'off', etcd, keyPrefix } = options;
  const { engines, resources, clock, logger, port } = parts;
  if (endpointReconciler === 'off') return undefined;
  const isAlone = etcd === undefined;
  const address = publishedAddress(options);
  if (address === undefined) logger.warn('No address of this server is one for others; it has no endpoints');
  const endpoints = resources.catalog.find('', 'v1', 'endpoints')?.definition;
  const shared = (): ServerLeases | 'none' =>
    endpoints === undefined
      ? 'none'
      : sharedLeases({
          engine: engines.main,
          endpoints,
          storedAs: storedAs(options),
          ttlSeconds: leaseSeconds,
          ...(keyPrefix !== undefined && { keyPrefix }),
        });
  const leases = endpointReconciler === 'none' ? 'none' : isAlone ? ownLeases() : shared();
  const clusterIp = firstServiceAddress(options.serviceClusterIpRange ?? defaultServiceRange);
  return new KubernetesService({ client: resources.client, clusterIp, address, port, leases, isAlone, clock, logger });
}

/** Undefined where it is off. */
function serverIdentity(
  { clientCa, identity = 'off' }: ControlPlaneOptions,
  parts: Omit<AnnouncedParts, 'registration'>,
): ServerIdentity | undefined {
  if (identity === 'off') return undefined;
  const { pki, resources, port, clock, logger } = parts;
  const authorities = clientAuthorities(pki, clientCa);
  const { client } = resources;
  const hasLease = identity === 'on';
  return new ServerIdentity({
    client,
    hostname: hostname(),
    port,
    clientAuthorities: authorities,
    hasLease,
    clock,
    logger,
  });
}

/** As in the options. */
const defaultServiceRange = '10.96.0.0/16';

const noServer = { url: '', port: 0, caCert: '', caFile: '', token: '', kubeconfig: '' } as const;

async function openEncryption(
  options: EncryptionOptions | undefined,
  ports: { readonly clock: Clock; readonly logger: Logger },
): Promise<EncryptionAtRest | undefined> {
  if (options === undefined) return undefined;
  // gRPC, of KMS plug-ins here and of etcd below, is a fifth of what a start would load: those load it who use it.
  const module = await import('./encryption-config/encryption-at-rest.ts');
  return module.EncryptionAtRest.open(options, ports);
}

/** In etcd what a kube-apiserver beside this server writes; in the embedded store what can be sent as it is. */
function storedAs({ etcd, storageMediaType }: ControlPlaneOptions): ResourceCodecOptions {
  const isShared = etcd !== undefined;
  return {
    mediaType: storageMediaType ?? (isShared ? 'application/vnd.kubernetes.protobuf' : 'application/json'),
    isShared,
  };
}

function openPki(options: ControlPlaneOptions, clock: Clock): Promise<Pki> {
  const hosts = certificateHosts(options);
  const { serving } = options;
  return startingWith('dataDir', async () => {
    const pki = await ensurePki({ directory: pkiDirectory(options), hosts, clock });
    if (serving === undefined) return pki;
    // What clients have to trust, under the name that is handed out.
    const trustFile = join(pkiDirectory(options), 'given-serving.crt');
    await writePrivateFile(trustFile, serving.cert);
    return { ...pki, serving, trusted: { cert: serving.cert, file: trustFile } };
  });
}

function pkiDirectory({ dataDir }: Pick<ControlPlaneOptions, 'dataDir'>): string {
  return join(resolve(dataDir), 'pki');
}

/** What `work` makes; rejects with the reason of the signal when that aborts first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

async function closeAll(closers: (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  // One that fails must not keep the next from closing: the last of them frees the data directory.
  for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
    await closer().catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw new AggregateError(errors, 'the control plane did not close cleanly');
}

/** What would fail late, or be ignored by TLS. */
function checkCertificates({ serving, clientCa, kubelet, etcd }: ControlPlaneOptions): void {
  if (serving !== undefined) checkKeyPair(serving, { cert: 'serving.cert', key: 'serving.key' });
  if (clientCa !== undefined) checkAuthorities(clientCa, 'clientCa');
  if (kubelet?.ca !== undefined) checkAuthorities(kubelet.ca, 'kubelet.ca');
  if (kubelet?.clientCert !== undefined && kubelet.clientKey !== undefined) {
    const pair = { cert: kubelet.clientCert, key: kubelet.clientKey };
    checkKeyPair(pair, { cert: 'kubelet.clientCert', key: 'kubelet.clientKey' });
  }
  const { ca, cert, key } = etcd?.tls ?? {};
  if (ca !== undefined) checkAuthorities(ca.toString(), 'etcd.tls.ca');
  if (cert !== undefined && key !== undefined) {
    checkKeyPair({ cert: cert.toString(), key: key.toString() }, { cert: 'etcd.tls.cert', key: 'etcd.tls.key' });
  }
}

/** Starts it; the result ends it. */
function compaction(
  engine: Engine,
  options: ControlPlaneOptions & { readonly clock: Clock; readonly logger: Logger },
): () => Promise<void> {
  const isEmbedded = options.engine === undefined && options.etcd === undefined;
  const intervalMs = isEmbedded ? (options.compactionIntervalMs ?? 300_000) : 0;
  const stop = startStoreCompactor({ engine, intervalMs, clock: options.clock, logger: options.logger });
  return () => Promise.resolve(stop());
}

async function accessOptions(options: ControlPlaneOptions, token: string): Promise<AccessControlOptions> {
  const admin: UserInfo = { name: 'kapstan-admin', groups: ['system:masters'] };
  const { tokens } = options;
  const file =
    tokens === undefined ? [] : await startingWith('tokens', () => parseTokenFile(tokens.text, tokens.fileName));
  return {
    tokens: new Map([[token, admin], ...file]),
    serviceAccounts: await serviceAccounts(options),
    ...(options.authorization === undefined ? {} : { authorization: options.authorization }),
  };
}

/** With a key to sign with, unless there is nobody to ask for tokens. */
async function serviceAccounts(options: ControlPlaneOptions): Promise<ServiceAccountOptions> {
  const { signingKey: given, verificationKeys = [] } = options.serviceAccounts ?? {};
  if (given !== undefined) await startingWith('serviceAccounts.signingKey', () => void readSigningKey(given));
  for (const pem of verificationKeys) {
    await startingWith('serviceAccounts.verificationKeys', () => void readVerificationKeys(pem));
  }
  if (given !== undefined || options.http === 'off') return options.serviceAccounts ?? {};
  const signingKey = await startingWith('dataDir', () => ensureServiceAccountKey(pkiDirectory(options)));
  return { ...options.serviceAccounts, signingKey };
}
