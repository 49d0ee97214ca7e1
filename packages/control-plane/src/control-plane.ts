// startControlPlane: the whole server in this process: engine, stores, custom resources, HTTPS, first objects.
// Everything below is a package of its own; here they are put together and taken apart again, in reverse order.
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type Clock, type Logger, type ResourceClient, silentLogger, systemClock } from '@kapstan/api';
import {
  type ApiServer,
  type ApiServerOptions,
  parseTokenFile,
  type ResourceCodecOptions,
  type StorageMediaType,
  startApiServer,
  type UserInfo,
} from '@kapstan/apiserver';
import type { Engine } from '@kapstan/storage';
import type { EtcdEngineOptions } from '@kapstan/storage-etcd';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import type { AccessControlOptions } from './access-control.ts';
import { ensurePki, type Pki } from './certificates.ts';
import { selectControlLoops } from './control-loops/control-loop-names.ts';
import { ControlLoops } from './control-loops/control-loops.ts';
import type { EncryptionAtRest, EncryptionOptions } from './encryption-config/encryption-at-rest.ts';
import { createFirstObjects } from './first-objects.ts';
import { issuerPages } from './issuer-pages.ts';
import { checkAuthorities, checkKeyPair, type KeyPair } from './key-pair.ts';
import { formatKubeconfig } from './kubeconfig-file.ts';
import { makeDirectory } from './make-directory.ts';
import { writePrivateFile } from './private-file.ts';
import { openResources, type Resources, type WatchCacheOptions } from './resources.ts';
import { certificateHosts, reachableUrl } from './server-address.ts';
import { ensureServiceAccountKey } from './service-account-key.ts';
import { StartError, startingWith } from './start-error.ts';
import { startStoreCompactor } from './store-compactor.ts';
import { storePages } from './store-pages.ts';

export interface ControlPlaneOptions {
  /** Directory of the store (`store/`) and of the certificates (`pki/`); made when absent. One process at a time. */
  readonly dataDir: string;
  /**
   * A store in place of the embedded one in `dataDir`; it stays its owner's and is not closed. No other control plane may
   * write to it: for an etcd that several share there is the option `etcd`.
   */
  readonly engine?: Engine;
  /**
   * Time between two compactions of the embedded store, in milliseconds; history lasts one to two of these. 0 = none, which
   * lets the store grow until it is full. Default 300 000. An etcd has its own, in `etcd`; a given `engine` has none.
   */
  readonly compactionIntervalMs?: number;
  /** An etcd cluster in place of the embedded store. `dataDir` then holds the certificates alone. */
  readonly etcd?: EtcdEngineOptions;
  /** What all keys of the store begin with; slashes at its ends do not count. Default "/registry". */
  readonly keyPrefix?: string;
  /** How objects of the built-in kinds are written; every form is read. Default: protobuf with `etcd`, else application/json. */
  readonly storageMediaType?: StorageMediaType;
  /** Encryption at rest. Default: objects are stored in the clear, and encrypted ones cannot be read. */
  readonly encryption?: EncryptionOptions;
  /**
   * How long a start waits for objects that cannot be read, as they are corrupt or no key is at hand for them, before it goes
   * on without them, in milliseconds. Default 60 000.
   */
  readonly storageInitializationTimeoutMs?: number;
  /** Further settings of the server; 'off' = none is started, and what belongs to it (url, token, …) is empty. */
  readonly http?: 'off' | Pick<ApiServerOptions, 'onRequest' | 'maxWatchBufferBytes' | 'drainMs'>;
  /** Default 127.0.0.1. */
  readonly bindAddress?: string;
  /** 0 = any free one. Default 0. */
  readonly port?: number;
  /** Another address in the serving certificate. */
  readonly advertiseAddress?: string;
  /** Users by token, as the text of a kube-apiserver token file; `fileName` is for its errors. */
  readonly tokens?: { readonly text: string; readonly fileName: string };
  /** PEM of further authorities that sign client certificates. */
  readonly clientCa?: string;
  /** Serving certificate in place of the own one. */
  readonly serving?: KeyPair;
  /** Default 'Kapstan': the built-in rule. 'AlwaysAllow' lets everybody do everything. */
  readonly authorization?: 'Kapstan' | 'AlwaysAllow';
  /** Default true. */
  readonly isAnonymousAllowed?: boolean;
  /** Default: on for every resource. */
  readonly watchCache?: WatchCacheOptions;
  /** Most seconds by which a lease may outlive its object, so that others share it. 0 = none is shared. Default 60. */
  readonly leaseReuseSeconds?: number;
  /** Time between two counts of the stored objects for /metrics, in milliseconds; 0 = none. Default 60 000. */
  readonly countPollMs?: number;
  /** Time between two looks at the size of the store for /metrics, in milliseconds; 0 = none. Default 30 000. */
  readonly sizePollMs?: number;
  /** Default 3600. */
  readonly eventTtlSeconds?: number;
  /** Default 1. */
  readonly deleteCollectionWorkers?: number;
  /** False: deletions leave no finalizers for the garbage collector, and it does not run. Default true. */
  readonly collectsGarbage?: boolean;
  readonly admission?: { readonly enabled: readonly string[]; readonly disabled: readonly string[] };
  /** 0 = no limit. Default 400. */
  readonly maxRequestsInflight?: number;
  /** 0 = no limit. Default 200. */
  readonly maxMutatingRequestsInflight?: number;
  /** Longest time for a request that is no watch, in milliseconds; writes get at most 34 000. Default 60 000. */
  readonly requestTimeoutMs?: number;
  /** Shortest time after which a watch is ended, in milliseconds. Default 1 800 000. */
  readonly minWatchMs?: number;
  /** Share of requests, in [0, 1], after which an HTTP/2 client is asked to connect anew: clients move on to other servers. Default 0. */
  readonly goawayChance?: number;
  /** Default 10.96.0.0/16. */
  readonly serviceClusterIpRange?: string;
  /**
   * Names of control loops, as kube-controller-manager has them; "*" = all, "-name" = but this one. Default none. Without
   * HTTP there is no authority to publish, so root-ca-certificate-publisher-controller is left out. No leader is elected: of
   * several servers on one etcd one should run them, the others none. Where more do, the objects come out right all the
   * same (writes are conditional), at the price of the same work twice; but root-ca-certificate-publisher-controller must
   * run once, unless all servers have one authority: each would put its own back.
   */
  readonly controlLoops?: readonly string[];
  /** Freezes the objects that caches share, so that a change fails where it is made. For tests. Default false. */
  readonly freeze?: boolean;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** The store failed for good: end the process. Default: nothing. */
  readonly onFatal?: (error: unknown) => void;
  /** Gives up a start that is under way, at its next step. Says nothing once it has started. */
  readonly signal?: AbortSignal;
}

export interface ControlPlane {
  readonly url: string;
  readonly port: number;
  /** PEM that clients have to trust, and the file that holds it: of the own authority, or the serving certificate that was given. */
  readonly caCert: string;
  readonly caFile: string;
  /** Bearer token of an admin in system:masters, new at each start. */
  readonly token: string;
  /** Text of an admin kubeconfig. */
  readonly kubeconfig: string;
  /** Reads and writes as an admin without HTTP. */
  readonly client: ResourceClient;
  /** Ends watches, lets requests end, closes the store. Idempotent. */
  close(): Promise<void>;
}

/**
 * Resolves when requests are answered. Rejects, with everything closed again, when something cannot start: with StartError
 * where that is for an option and its message does not name it, and with TypeError for the name of an unknown control loop.
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? silentLogger;
  const { signal } = options;
  const closers: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeAll(closers);
    return closing;
  };
  try {
    signal?.throwIfAborted();
    checkCertificates(options);
    const encryption = await startingWith('encryption', () => openEncryption(options.encryption, { clock, logger }));
    closers.push(async () => encryption?.close());
    const engine = options.engine ?? (await openEngine(options, { clock, logger }));
    if (options.engine === undefined) closers.push(() => engine.close());
    signal?.throwIfAborted();
    closers.push(compaction(engine, { ...options, clock, logger }));
    const token = randomBytes(24).toString('base64url');
    const access = await accessOptions(options, token);
    const stores = { ...options, storedAs: storedAs(options), encryption };
    const opening = openResources(engine, { ...stores, access, clock, logger }).then((opened) => {
      closers.push(() => opened.close());
      return opened;
    });
    const issuing = options.http === 'off' ? undefined : openPki(options, clock);
    // Side by side; and when one fails nothing of the other goes on behind it.
    await Promise.allSettled([opening, issuing]);
    const [resources, pki] = [await opening, await issuing];
    signal?.throwIfAborted();
    await createFirstObjects(resources.client);
    const { client } = resources;
    const loops = controlLoops(options, { resources, caCert: pki?.trusted.cert, clock, logger });
    closers.push(() => loops.close());
    loops.start();
    // Where something cannot be read, loops may never be ready: they go on trying, and /readyz tells.
    if (resources.isReady()) await unlessAborted(loops.whenReady(), signal);
    if (pki === undefined) return { ...noServer, client, close };
    const parts = { engine, pki, resources, loops, encryption, clock, logger };
    const server = await listening(serverOptions(options, parts));
    closers.push(() => server.close());
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
      close,
    };
  } catch (error) {
    // What went wrong first is what has to be told.
    await close().catch((cause: unknown) =>
      logger.error('A failed start was not closed cleanly', { error: String(cause) }),
    );
    throw error;
  }
}

/**
 * How long after the deletion of a namespace its content may still arrive. On a store of our own all that writes is in this
 * process: late is only a request that was admitted before and is under way. On an etcd others write too, each admitting by
 * its own watch cache, which may not have heard of the deletion: what Kubernetes waits. Source: namespaceDeletionGracePeriod.
 */
const namespaceGraceMs = { ownStore: 500, sharedStore: 5000 };

function controlLoops(
  { controlLoops: list = [], collectsGarbage = true, etcd }: ControlPlaneOptions,
  parts: Omit<ServerParts, 'engine' | 'pki' | 'loops' | 'encryption'> & { readonly caCert: string | undefined },
): ControlLoops {
  const { resources, ...ports } = parts;
  const { client, catalog } = resources;
  const names = selectControlLoops(list, { collectsGarbage });
  const graceMs = etcd === undefined ? namespaceGraceMs.ownStore : namespaceGraceMs.sharedStore;
  return new ControlLoops({ names, client, catalog, namespaceGraceMs: graceMs, ...ports });
}

const noServer = { url: '', port: 0, caCert: '', caFile: '', token: '', kubeconfig: '' } as const;

/** Who waits longer for a start wants to know what for. */
const sayWaitingMs = 2_000;

function openEngine(
  { dataDir, etcd, keyPrefix, onFatal }: ControlPlaneOptions,
  ports: { readonly clock: Clock; readonly logger: Logger },
): Promise<Engine> {
  if (etcd !== undefined) {
    const { clock, logger } = ports;
    const servers = etcd.endpoints.join(', ');
    const told = clock.setBackgroundTimer(() => logger.warn('Waiting for etcd', { servers }), sayWaitingMs);
    return startingWith('etcd', async () => {
      const { openEtcdEngine } = await import('@kapstan/storage-etcd');
      return openEtcdEngine({ ...ports, ...(keyPrefix !== undefined && { prefix: keyPrefix }), ...etcd });
    }).finally(told);
  }
  return startingWith('dataDir', async () => {
    await makeDirectory(dataDir);
    return openLmdbEngine({ dataDir: join(resolve(dataDir), 'store'), ...ports, ...(onFatal && { onFatal }) });
  });
}

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

interface ServerParts {
  readonly engine: Engine;
  readonly pki: Pki;
  readonly resources: Resources;
  readonly loops: ControlLoops;
  readonly encryption: EncryptionAtRest | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

function serverOptions(options: ControlPlaneOptions, parts: ServerParts): Parameters<typeof startApiServer>[0] {
  const { engine, pki, resources, loops, encryption, clock, logger } = parts;
  return {
    catalog: resources.catalog,
    authentication: {
      authenticators: resources.access.authenticators,
      anonymous: options.isAnonymousAllowed ?? true,
    },
    authorizer: resources.access.authorizer,
    patching: resources.patching,
    tls: {
      ...pki.serving,
      clientCa: options.clientCa === undefined ? [pki.caCert] : [pki.caCert, options.clientCa],
    },
    host: options.bindAddress ?? '127.0.0.1',
    port: options.port ?? 0,
    healthChecks: [...resources.healthChecks, ...loops.healthChecks],
    metrics: [loops.metrics, resources.metrics, ...(encryption === undefined ? [] : [encryption.metrics.registry])],
    pages: [
      ...storePages({ engine, workDir: resolve(options.dataDir), forgetBefore: resources.forgetBefore }),
      ...issuerPages(resources.access.serviceAccountTokens),
    ],
    ...(options.maxRequestsInflight === undefined ? {} : { maxRequestsInflight: options.maxRequestsInflight }),
    ...(options.maxMutatingRequestsInflight === undefined
      ? {}
      : { maxMutatingRequestsInflight: options.maxMutatingRequestsInflight }),
    ...(options.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: options.requestTimeoutMs }),
    ...(options.goawayChance === undefined ? {} : { goawayChance: options.goawayChance }),
    ...(options.minWatchMs === undefined ? {} : { minWatchMs: options.minWatchMs }),
    ...(options.http === 'off' ? {} : options.http),
    clock,
    logger,
  };
}

/** What would fail late, or be ignored by TLS. */
function checkCertificates({ serving, clientCa, etcd }: ControlPlaneOptions): void {
  if (serving !== undefined) checkKeyPair(serving, { cert: 'serving.cert', key: 'serving.key' });
  if (clientCa !== undefined) checkAuthorities(clientCa, 'clientCa');
  const { ca, cert, key } = etcd?.tls ?? {};
  if (ca !== undefined) checkAuthorities(ca.toString(), 'etcd.tls.ca');
  if (cert !== undefined && key !== undefined) {
    checkKeyPair({ cert: cert.toString(), key: key.toString() }, { cert: 'etcd.tls.cert', key: 'etcd.tls.key' });
  }
}

/** That the port cannot be had is the port's fault or the address's. */
const portErrors: ReadonlySet<unknown> = new Set(['EADDRINUSE', 'EACCES', 'ERR_SOCKET_BAD_PORT']);

async function listening(options: ApiServerOptions): Promise<ApiServer> {
  try {
    return await startApiServer(options);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (portErrors.has(code)) throw new StartError('port', { cause: error });
    if (syscall === 'listen' || syscall === 'getaddrinfo') throw new StartError('bindAddress', { cause: error });
    throw error;
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
  const signingKey = (): Promise<string> =>
    startingWith('dataDir', () => ensureServiceAccountKey(pkiDirectory(options)));
  return {
    tokens: new Map([[token, admin], ...file]),
    ...(options.http === 'off' ? {} : { signingKey: await signingKey() }),
    ...(options.authorization === undefined ? {} : { authorization: options.authorization }),
  };
}
