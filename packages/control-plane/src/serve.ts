// `kapstan serve`: turns flags into options, runs a control plane, and writes its files. SIGTERM or SIGINT ends it.
import { readFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Logger } from '@kapstan/api';
import type { CertificateFiles } from './certificates/followed-certificates.ts';
import { writePrivateFile } from './certificates/private-file.ts';
import { releaseMemoryWhenIdle } from './command/idle-memory.ts';
import { stopWithNpx } from './command/npx-shell.ts';
import { listenForStop, type StopSignal } from './command/stop-signal.ts';
import { startControlPlane } from './control-plane.ts';
import { admissionConfigurations } from './flags/admission-files.ts';
import { type AggregatorFlags, aggregatorFlagWarnings, aggregatorOptions } from './flags/aggregator-flags.ts';
import { auditFlagWarnings, auditSettings } from './flags/audit-flags.ts';
import { allowsEverything, authorizationFromFlags } from './flags/authorization-flags.ts';
import { formatFlags } from './flags/flag-set.ts';
import { flagTexts } from './flags/flag-texts.ts';
import { flagWarnings } from './flags/flag-warnings.ts';
import { identityFlagWarnings, identityOptions } from './flags/identity-flags.ts';
import { type KubeletFlags, kubeletOptions } from './flags/kubelet-flags.ts';
import { parseServeFlags, type ServeFlags, serveFlags } from './flags/serve-flags.ts';
import { serviceAccountOptions } from './flags/service-account-flags.ts';
import { etcdOptions } from './flags/store-flags.ts';
import { tracingConfiguration } from './flags/tracing-flags.ts';
import { fixedFlags } from './flags/unsupported-flags.ts';
import { StartError, startingWith } from './lifetime/start-error.ts';
import type { ControlPlane, ControlPlaneOptions } from './options/control-plane-options.ts';
import { consoleLogger } from './output/console-logger.ts';
import { printIntoLog } from './output/library-output.ts';
import type { LogStream } from './output/log-stream.ts';
import { printResult, standardErrorLog } from './output/standard-streams.ts';

/** At this value of --v, kube-apiserver also begins to log debug details. */
const debugVerbosity = 4;

/** Runs until a signal ends it. Returns 0 once requests are drained and all is closed. Rejects with the error of a failed start. */
export async function serve(args: readonly string[], stop: StopSignal = listenForStop()): Promise<number> {
  try {
    return await run(args, stop);
  } finally {
    stop.ignore();
  }
}

async function run(args: readonly string[], stop: StopSignal): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    return printResult(`Usage: kapstan serve [flags]\n\n${formatFlags(serveFlags)}`);
  }
  const flags = parseServeFlags(args);
  const log = standardErrorLog();
  const logger = consoleLogger(flags.v >= debugVerbosity ? 'debug' : 'info', log);
  const restore = printIntoLog(logger);
  const stopReleasing = flags['release-idle-memory'] ? releaseMemoryWhenIdle() : undefined;
  stopWithNpx(stop);
  try {
    return await serving(flags, { log, logger, stop });
  } finally {
    stopReleasing?.();
    restore();
    log.close();
  }
}

interface ServePorts {
  readonly log: LogStream;
  readonly logger: Logger;
  readonly stop: StopSignal;
}

async function serving(flags: ServeFlags, ports: ServePorts): Promise<number> {
  const { logger, stop } = ports;
  const warnings = [
    ...flagWarnings(flags),
    ...auditFlagWarnings(flags),
    ...aggregatorFlagWarnings(flags),
    ...identityFlagWarnings(flags),
  ];
  for (const warning of warnings) logger.warn(warning);
  void stop.received.then((signal) => logger.info('shutting down', { signal }));
  // A ready file left by a killed server would claim that this one is ready.
  await removeReadyFile(flags);
  const controlPlane = await starting(flags, ports);
  if (controlPlane === undefined) return 0;
  try {
    await writeFiles(flags, controlPlane);
  } catch (error) {
    await controlPlane.close();
    throw error;
  }
  logger.info('serving', { url: controlPlane.url, dataDir: resolve(flags['data-dir']) });
  await stop.received;
  await controlPlane.close();
  await removeReadyFile(flags);
  return 0;
}

/** Returns undefined, with everything closed again, when a signal stopped the start. */
async function starting(flags: ServeFlags, { log, logger, stop }: ServePorts): Promise<ControlPlane | undefined> {
  const onFatal = (error: unknown): void => {
    logger.error('the store failed and accepts no more writes; exiting', { error: String(error) });
    process.exit(1);
  };
  try {
    const ports = { logger, onFatal, signal: stop.signal, metrics: [log] };
    return await namingFlags(async () => startControlPlane({ ...(await toOptions(flags)), ...ports }));
  } catch (error) {
    if (stop.signal.aborted) return undefined;
    throw error;
  }
}

async function removeReadyFile(flags: ServeFlags): Promise<void> {
  const file = flags['ready-file'];
  if (file !== '') await startingWith('--ready-file', () => rm(file, { force: true }));
}

type FileFlag = 'token-auth-file' | 'client-ca-file' | 'tls-cert-file' | 'tls-private-key-file';

/** Maps the options that startControlPlane names in its errors to flags. */
const flagOf: ReadonlyMap<string, keyof ServeFlags> = new Map([
  ['dataDir', 'data-dir'],
  ['etcd', 'etcd-servers'],
  ['etcdOverrides', 'etcd-servers-overrides'],
  ['etcd.tls.ca', 'etcd-cafile'],
  ['etcd.tls.cert', 'etcd-certfile'],
  ['etcd.tls.key', 'etcd-keyfile'],
  ['encryption', 'encryption-provider-config'],
  ['bindAddress', 'bind-address'],
  ['port', 'secure-port'],
  ['serving.cert', 'tls-cert-file'],
  ['serving.key', 'tls-private-key-file'],
  ['clientCa', 'client-ca-file'],
  ['kubelet.clientCert', 'kubelet-client-certificate'],
  ['kubelet.clientKey', 'kubelet-client-key'],
  ['kubelet.ca', 'kubelet-certificate-authority'],
  ['frontProxy.client.cert', 'proxy-client-cert-file'],
  ['frontProxy.client.key', 'proxy-client-key-file'],
  ['frontProxy.clientCa', 'requestheader-client-ca-file'],
  ['tokens', 'token-auth-file'],
  ['authorization.configFile', 'authorization-config'],
  ['authorization.policyFile', 'authorization-policy-file'],
  ['authorization.webhook', 'authorization-webhook-config-file'],
  ['outsideIdentity.configFile', 'authentication-config'],
  ['outsideIdentity.oidc', 'oidc-issuer-url'],
  ['outsideIdentity.tokenWebhook', 'authentication-token-webhook-config-file'],
  ['audit.policy', 'audit-policy-file'],
  ['audit.path', 'audit-log-path'],
  ['audit.webhook.kubeconfig', 'audit-webhook-config-file'],
  ['tracing', 'tracing-config-file'],
  ['serviceAccounts.signingKey', 'service-account-signing-key-file'],
  ['serviceAccounts.verificationKeys', 'service-account-key-file'],
  ['serviceClusterIpRange', 'service-cluster-ip-range'],
  ['inspect', 'inspect'],
  ['runtimeConfig', 'runtime-config'],
  ['leaderElection', 'leader-elect-lease-duration'],
]);

async function namingFlags<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    const flag = flagOf.get(error.option);
    throw flag === undefined ? error : error.renamed(`--${flag}`);
  }
}

/** Converts the flags to options of {@link startControlPlane}; reads the files that they name. */
export async function toOptions(flags: ServeFlags): Promise<ControlPlaneOptions> {
  const read = async (name: FileFlag): Promise<string | undefined> =>
    flags[name] === '' ? undefined : await startingWith(`--${name}`, () => readFile(flags[name], 'utf8'));
  const tokens = await read('token-auth-file');
  const clientCa = await read('client-ca-file');
  const cert = await read('tls-cert-file');
  const key = await read('tls-private-key-file');
  const audit = await auditSettings(flags);
  return {
    ...(await storeOptions(flags)),
    bindAddress: flags['bind-address'],
    port: flags['secure-port'],
    ...(flags['advertise-address'] === '' ? {} : { advertiseAddress: flags['advertise-address'] }),
    tokens: tokens === undefined ? undefined : { text: tokens, fileName: flags['token-auth-file'] },
    audit,
    serviceAccounts: await serviceAccountOptions(flags),
    clientCa,
    outsideIdentity: await identityOptions(flags),
    serving: cert === undefined || key === undefined ? undefined : { cert, key },
    authorization: authorizationFromFlags(flags),
    // With AlwaysAllow, anonymous requests are refused, because nobody may do everything without a name. Source:
    // BuiltInAuthenticationOptions.ApplyAuthorization.
    isAnonymousAllowed: (flags['anonymous-auth'] ?? true) && !allowsEverything(flags),
    watchCache: {
      isEnabled: flags['watch-cache'],
      defaultSize: flags['default-watch-cache-size'],
      sizes: flags['watch-cache-sizes'],
    },
    eventTtlSeconds: Math.trunc(flags['event-ttl'] / 1000),
    allowsPrivileged: flags['allow-privileged'],
    deleteCollectionWorkers: flags['delete-collection-workers'],
    collectsGarbage: flags['enable-garbage-collector'],
    admission: {
      enabled: flags['enable-admission-plugins'],
      disabled: flags['disable-admission-plugins'],
      configurations: await admissionConfigurations(flags['admission-control-config-file']),
    },
    ...limitOptions(flags),
    ...gateOptions(flags),
    tracing: await tracingConfiguration(flags),
    serviceClusterIpRange: flags['service-cluster-ip-range'],
    kubelet: await kubeletOptions(flags),
    ...(await aggregatorOptions(flags)),
    certificateFiles: certificateFiles(flags),
    endpointReconciler: flags['endpoint-reconciler-type'],
    registersApiServices: true,
    warnsWithoutEffect: flags['warn-without-effect'],
    inspect: flags.inspect,
    controlLoops: flags['control-loops'],
    leaderElection: flags['leader-elect']
      ? {
          leaseDurationMs: flags['leader-elect-lease-duration'],
          renewDeadlineMs: flags['leader-elect-renew-deadline'],
          retryPeriodMs: flags['leader-elect-retry-period'],
        }
      : 'off',
  };
}

function certificateFiles(flags: ServeFlags): CertificateFiles {
  const file = (name: FileFlag | keyof AggregatorFlags | keyof KubeletFlags): string | undefined =>
    String(flags[name]) || undefined;
  const pair = (cert: string | undefined, key: string | undefined): CertificateFiles['serving'] =>
    cert === undefined || key === undefined ? undefined : { cert, key };
  return {
    serving: pair(file('tls-cert-file'), file('tls-private-key-file')),
    clientCa: file('client-ca-file'),
    frontProxyCa: file('requestheader-client-ca-file'),
    proxyClient: pair(file('proxy-client-cert-file'), file('proxy-client-key-file')),
    kubeletClient: pair(file('kubelet-client-certificate'), file('kubelet-client-key')),
    kubeletCa: file('kubelet-certificate-authority'),
  };
}

/** Returns the options for storing objects: the store and its settings. */
async function storeOptions(
  flags: ServeFlags,
): Promise<Pick<ControlPlaneOptions, 'dataDir'> & Partial<ControlPlaneOptions>> {
  const etcd = await etcdOptions(flags);
  return {
    dataDir: flags['data-dir'],
    ...(flags['runtime-config'].size === 0 ? {} : { runtimeConfig: flags['runtime-config'] }),
    ...(etcd === undefined ? {} : { etcd, etcdOverrides: flags['etcd-servers-overrides'] }),
    ...(flags['storage-media-type'] === 'default' ? {} : { storageMediaType: flags['storage-media-type'] }),
    keyPrefix: flags['etcd-prefix'],
    ...(flags['quota-backend-bytes'] === 0 ? {} : { quotaBytes: flags['quota-backend-bytes'] }),
    compactionIntervalMs: flags['etcd-compaction-interval'],
    leaseReuseSeconds: flags['lease-reuse-duration-seconds'],
    countPollMs: flags['etcd-count-metric-poll-period'],
    sizePollMs: flags['etcd-db-metric-poll-interval'],
    ...encryptionOptions(flags),
    storageInitializationTimeoutMs: flags['storage-initialization-timeout'],
  };
}

/** Returns the options that feature gates control. */
function gateOptions(flags: ServeFlags): Partial<ControlPlaneOptions> {
  const { AllowUnsafeMalformedObjectDeletion, APIServerIdentity, ComponentFlagz, ComponentStatusz } =
    flags['feature-gates'];
  return {
    allowsUnsafeDeletion: AllowUnsafeMalformedObjectDeletion,
    identity: APIServerIdentity ? 'on' : 'without lease',
    flags: ComponentFlagz ? flagTexts({ ...fixedFlags, ...serveFlags }, { ...flags }) : undefined,
    hasStatusz: ComponentStatusz,
  };
}

/** Returns the limits on concurrency and time. */
function limitOptions(flags: ServeFlags): Partial<ControlPlaneOptions> {
  return {
    hasPriorityAndFairness: flags['enable-priority-and-fairness'],
    maxRequestsInflight: flags['max-requests-inflight'],
    maxMutatingRequestsInflight: flags['max-mutating-requests-inflight'],
    ...(flags['http2-max-streams-per-connection'] === 0
      ? {}
      : { maxConcurrentStreams: flags['http2-max-streams-per-connection'] }),
    requestTimeoutMs: flags['request-timeout'],
    goawayChance: flags['goaway-chance'],
    maxUserWatchBufferBytes: flags['user-watch-buffer-bytes'],
    maxServerWatchBufferBytes: flags['watch-buffer-bytes'],
    livezGraceMs: flags['livez-grace-period'],
    shutdown: {
      delayMs: flags['shutdown-delay-duration'],
      sendsRetryAfter: flags['shutdown-send-retry-after'],
      watchGraceMs: flags['shutdown-watch-termination-grace-period'],
    },
    minWatchMs: flags['min-request-timeout'] * 1000,
  };
}

function encryptionOptions(flags: ServeFlags): Pick<ControlPlaneOptions, 'encryption'> {
  const configFile = flags['encryption-provider-config'];
  const reloads = flags['encryption-provider-config-automatic-reload'];
  return configFile === '' ? {} : { encryption: { configFile, reloads } };
}

async function writeFiles(flags: ServeFlags, controlPlane: ControlPlane): Promise<void> {
  const write = async (name: 'kubeconfig-out' | 'ready-file', text: string): Promise<void> => {
    if (flags[name] !== '') await startingWith(`--${name}`, () => writePrivateFile(flags[name], text));
  };
  await write('kubeconfig-out', controlPlane.kubeconfig);
  const { url, caFile, token } = controlPlane;
  // This file is written last, because a program that waits for this file may then use all the others.
  await write('ready-file', `${JSON.stringify({ url, caFile, token, pid: process.pid })}\n`);
}
