// startControlPlane starts the whole server in this process: engine, stores, custom resources, HTTPS, first objects.
// Each part is a separate package; this file assembles them and closes them in reverse order.

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { type HealthCheck, parseTokenFile, type UserInfo } from '@kapstan/apiserver';
import { type ObjectCreator, readSigningKey, readVerificationKeys, serviceNetwork } from '@kapstan/kubernetes';
import type { Engine } from '@kapstan/storage';
import {
  type AccessControlOptions,
  nodeFeed,
  policyFeed,
  type ServiceAccountOptions,
  tokenNames,
} from './access/access-control.ts';
import { openAudit } from './access/audit.ts';
import { ensurePki, type Pki } from './certificates/certificates.ts';
import { checkAuthorities, checkKeyPair } from './certificates/key-pair.ts';
import { writePrivateFile } from './certificates/private-file.ts';
import { ensureServiceAccountKey } from './certificates/service-account-key.ts';
import type { EncryptionAtRest } from './encryption-config/encryption-at-rest.ts';
import { BootstrapRoles } from './first-objects/bootstrap-roles.ts';
import { firstObjectCreator } from './first-objects/first-object-creator.ts';
import { createFirstObjects } from './first-objects/first-objects.ts';
import { openFlowControl } from './flow-control-loop.ts';
import { NodePortRepair } from './kubernetes-service/node-port-repair.ts';
import { ServiceAddressRepair } from './kubernetes-service/service-address-repair.ts';
import { defaultServiceRange } from './kubernetes-service/service-ranges.ts';
import { Closers } from './lifetime/closers.ts';
import { hooksOfResources, PostStartHooks } from './lifetime/post-start-hooks.ts';
import { startingWith } from './lifetime/start-error.ts';
import { unlessAborted } from './lifetime/unless-aborted.ts';
import { listen } from './listening.ts';
import type { ControlPlane, ControlPlaneOptions } from './options/control-plane-options.ts';
import { storedAs } from './options/stored-form.ts';
import { OutsideIdentity } from './outside-identity/outside-identity.ts';
import { openResources, type Resources } from './resources.ts';
import { serverName } from './server-identity/identity-lease.ts';
import { certificateHosts } from './server-identity/server-address.ts';
import type { ServerParts } from './serving.ts';
import { startStoreCompactor } from './store/store-compactor.ts';
import { openStoreEngines } from './store/store-engines.ts';
import { openTracing } from './tracing/tracing.ts';
import { wantedLoops } from './wanted-loops.ts';

/**
 * Resolves when requests are answered. When something cannot start, everything is closed again and the promise rejects: with StartError
 * when an option is at fault and the error does not name it, and with TypeError for an unknown control loop.
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? silentLogger;
  const closers = new Closers({ clock, logger });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closers.closeAll();
    return closing;
  };
  try {
    return { ...(await start(options, { closers, clock, logger })), close };
  } catch (error) {
    // The caller gets the first error; an error while closing is only logged.
    await close().catch((cause: unknown) =>
      logger.error('a failed start was not closed cleanly', { error: String(cause) }),
    );
    throw error;
  }
}

/** Adds the close function of each started part to `closers`. */
async function start(
  options: ControlPlaneOptions,
  { closers, clock, logger }: Pick<AuthorizationPorts, 'closers' | 'clock' | 'logger'>,
): Promise<Omit<ControlPlane, 'close'>> {
  const { signal } = options;
  signal?.throwIfAborted();
  checkCertificates(options);
  const encryption = await startingWith('encryption', () => openEncryption(options, { clock, logger }));
  closers.add('encryption at rest', () => encryption?.close());
  const audit = await openAudit(options.audit, { clock, logger });
  closers.add('audit', () => audit?.backends.close());
  const tracing = await openTracing(options, { clock, logger });
  closers.add('tracing', () => tracing?.close());
  const engines = await openStoreEngines(options, { closers, clock, logger });
  signal?.throwIfAborted();
  closers.add('compaction', compaction(engines.main, { ...options, clock, logger }));
  const token = randomBytes(24).toString('base64url');
  const outside = await openOutsideIdentity(options, { clock, logger });
  closers.add('outside identity', () => outside?.close());
  const access = { ...(await accessOptions(options, token)), outside: outside?.authenticators };
  const { addressTypes } = options.kubelet ?? {};
  const stores = { ...options, kubeletAddressTypes: addressTypes, storedAs: storedAs(options), encryption };
  const opening = openResources(engines, { ...stores, access, clock, logger }).then((opened) => {
    closers.add('resources', () => opened.close());
    return opened;
  });
  const issuing = options.http === 'off' ? undefined : openPki(options, clock);
  // Both run at the same time; when one fails, the other still finishes, so that nothing continues in the background.
  await Promise.allSettled([opening, issuing]);
  const [resources, pki] = [await opening, await issuing];
  signal?.throwIfAborted();
  const { client } = resources;
  const hooks = new PostStartHooks(options);
  const creator = await firstObjectCreator(options.admission, resources);
  const addressRepair = await prepareObjects(options, { resources, hooks, creator, clock, logger, closers });
  const flows = openFlowControl(options, { resources, hooks, creator, clock, logger });
  closers.add('flow control', () => flows?.close());
  const following = flows?.start();
  const bootstrapRoles = await startAuthorization(resources, { closers, clock, logger, signal, hooks, creator });
  if (following !== undefined && resources.isReady()) await unlessAborted(following, signal);
  const loops = wantedLoops(options, { resources, caCert: pki?.trusted.cert, clock, logger });
  closers.add('control loops', () => loops.close());
  loops.start();
  // If objects cannot be read, loops may never become ready. They keep retrying, and /readyz reports it.
  if (resources.isReady()) await unlessAborted(loops.whenReady(), signal);
  if (pki === undefined) return { ...noServer, client };
  const observed = { audit, outside, tracer: tracing?.tracer, flowControl: flows?.control };
  const opened = { engines, pki, resources, hooks, loops, encryption, ...observed, bootstrapRoles, addressRepair };
  return { ...(await listen(options, opened, { closers, clock, logger })), token, client };
}

/** Loads roles and bindings into the authorizer before the first request, and adds the default ones. */
async function startAuthorization(
  resources: Resources,
  { closers, clock, logger, signal, hooks, creator }: AuthorizationPorts,
): Promise<HealthCheck> {
  const { client, access } = resources;
  const roles = new BootstrapRoles({ client, creator, isReady: () => resources.isReady(), clock, logger });
  closers.add('bootstrap roles', () => roles.close());
  await roles.start();
  const feed = policyFeed(access.policy, { client, clock, logger });
  closers.add('roles and bindings of the authorizer', () => feed.close());
  feed.start();
  const nodes = nodeFeed(access, { client, clock, logger });
  closers.add('objects of the node authorizer', () => nodes?.close());
  nodes?.start();
  const informed = Promise.all([feed.whenSynced(), nodes?.whenSynced()]).then(
    async () => {
      await access.nodes.whenSettled();
      hooks.finish('generic-apiserver-start-informers');
    },
    // The feed was closed before it had synced.
    () => undefined,
  );
  if (resources.isReady()) await unlessAborted(informed, signal);
  return roles.healthCheck;
}

interface AuthorizationPorts {
  readonly closers: Closers;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
  readonly hooks: PostStartHooks;
  readonly creator: ObjectCreator;
}

/** Creates the objects that every cluster has, and repairs the addresses of services. */
async function prepareObjects(
  options: ControlPlaneOptions,
  ports: Omit<AuthorizationPorts, 'signal'> & Pick<ServerParts, 'resources'>,
): Promise<ServiceAddressRepair> {
  const { resources, hooks, creator } = ports;
  hooks.finish(...hooksOfResources);
  await createFirstObjects(resources.client, creator);
  hooks.finish('start-system-namespaces-controller', 'scheduling/bootstrap-system-priority-classes');
  const repair = await serviceAddressRepair(options, ports);
  await startNodePortRepair(resources, ports);
  hooks.finish('start-service-ip-repair-controllers');
  return repair;
}

type RepairPorts = Pick<AuthorizationPorts, 'closers' | 'clock' | 'logger'> & Pick<ServerParts, 'resources'>;

async function serviceAddressRepair(
  { serviceClusterIpRange = defaultServiceRange }: ControlPlaneOptions,
  { resources, clock, logger, closers }: RepairPorts,
): Promise<ServiceAddressRepair> {
  const { client } = resources;
  const repair = new ServiceAddressRepair({ client, ownRange: serviceNetwork(serviceClusterIpRange), clock, logger });
  closers.add('addresses of services', () => repair.close());
  await repair.lookAtAll();
  return repair;
}

async function startNodePortRepair(
  { client, nodePorts }: Resources,
  { clock, logger, closers }: Omit<RepairPorts, 'resources'>,
): Promise<void> {
  if (nodePorts === undefined) return;
  const repair = new NodePortRepair({ client, nodePorts, clock, logger });
  closers.add('node ports of services', () => repair.close());
  await repair.start();
}

const noServer = { url: '', port: 0, caCert: '', caFile: '', token: '', inspectorUrl: '', kubeconfig: '' } as const;

async function openEncryption(
  options: ControlPlaneOptions,
  ports: { readonly clock: Clock; readonly logger: Logger },
): Promise<EncryptionAtRest | undefined> {
  const { encryption } = options;
  if (encryption === undefined) return undefined;
  // gRPC is imported only when needed, for KMS plug-ins here and for etcd below, because it is a fifth of the code that a start would load.
  const module = await import('./encryption-config/encryption-at-rest.ts');
  return module.EncryptionAtRest.open(encryption, { serverId: serverIdOf(options), ...ports });
}

function openPki(options: ControlPlaneOptions, clock: Clock): Promise<Pki> {
  const hosts = certificateHosts(options);
  const { serving } = options;
  return startingWith('dataDir', async () => {
    const pki = await ensurePki({ directory: pkiDirectory(options), hosts, clock });
    if (serving === undefined) return pki;
    // Clients have to trust this certificate, and they get the path of its file.
    const trustFile = join(pkiDirectory(options), 'given-serving.crt');
    await writePrivateFile(trustFile, serving.cert);
    return { ...pki, serving, trusted: { cert: serving.cert, file: trustFile } };
  });
}

function pkiDirectory({ dataDir }: Pick<ControlPlaneOptions, 'dataDir'>): string {
  return join(resolve(dataDir), 'pki');
}

/** Refuses certificates that would fail later, or that TLS would ignore. */
function checkCertificates({ serving, clientCa, kubelet, etcd, frontProxy }: ControlPlaneOptions): void {
  if (serving !== undefined) checkKeyPair(serving, { cert: 'serving.cert', key: 'serving.key' });
  if (clientCa !== undefined) checkAuthorities(clientCa, 'clientCa');
  if (kubelet?.ca !== undefined) checkAuthorities(kubelet.ca, 'kubelet.ca');
  if (kubelet?.clientCert !== undefined && kubelet.clientKey !== undefined) {
    const pair = { cert: kubelet.clientCert, key: kubelet.clientKey };
    checkKeyPair(pair, { cert: 'kubelet.clientCert', key: 'kubelet.clientKey' });
  }
  if (frontProxy?.clientCa !== undefined) checkAuthorities(frontProxy.clientCa, 'frontProxy.clientCa');
  if (frontProxy?.client !== undefined) {
    checkKeyPair(frontProxy.client, { cert: 'frontProxy.client.cert', key: 'frontProxy.client.key' });
  }
  const { ca, cert, key } = etcd?.tls ?? {};
  if (ca !== undefined) checkAuthorities(ca.toString(), 'etcd.tls.ca');
  if (cert !== undefined && key !== undefined) {
    checkKeyPair({ cert: cert.toString(), key: key.toString() }, { cert: 'etcd.tls.cert', key: 'etcd.tls.key' });
  }
}

/** Starts compaction; the returned function stops it. */
function compaction(
  engine: Engine,
  options: ControlPlaneOptions & { readonly clock: Clock; readonly logger: Logger },
): () => Promise<void> {
  const isEmbedded = options.engine === undefined && options.etcd === undefined;
  const intervalMs = isEmbedded ? (options.compactionIntervalMs ?? 300_000) : 0;
  const stop = startStoreCompactor({ engine, intervalMs, clock: options.clock, logger: options.logger });
  return () => Promise.resolve(stop());
}

/** Returns undefined where nobody vouches for others. */
async function openOutsideIdentity(
  options: ControlPlaneOptions,
  ports: { readonly clock: Clock; readonly logger: Logger },
): Promise<OutsideIdentity | undefined> {
  const { outsideIdentity, serviceAccounts } = options;
  const { configFile, oidc, tokenWebhook } = outsideIdentity ?? {};
  if (outsideIdentity === undefined || (configFile ?? oidc ?? tokenWebhook) === undefined) return undefined;
  const { issuers: ownIssuers, audiences: apiAudiences } = tokenNames(serviceAccounts);
  return OutsideIdentity.open(outsideIdentity, { ownIssuers, apiAudiences, serverId: serverIdOf(options), ...ports });
}

/** Returns the name of this server in metrics: the name of its Lease, if its port is chosen before it starts. */
function serverIdOf({ port = 0 }: ControlPlaneOptions): string {
  return serverName({ hostname: hostname(), port });
}

async function accessOptions(options: ControlPlaneOptions, token: string): Promise<AccessControlOptions> {
  const admin: UserInfo = { name: 'kapstan-admin', groups: ['system:masters'] };
  const { tokens } = options;
  const file =
    tokens === undefined ? [] : await startingWith('tokens', () => parseTokenFile(tokens.text, tokens.fileName));
  return {
    tokens: new Map([[token, admin], ...file]),
    serviceAccounts: await serviceAccounts(options),
    serverId: serverIdOf(options),
    authorization: options.authorization,
  };
}

/** Adds a signing key, unless HTTP is off, so that no tokens can be requested. */
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
