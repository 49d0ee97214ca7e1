// Serving: starts the HTTPS server of a control plane from its parts, and explains why it cannot listen. It sits
// between control-plane.ts and the API server.
import { resolve } from 'node:path';
import type { Clock, Logger } from '@kapstan/api';
import type { MetricsText } from '@kapstan/api/internal';
import {
  type ApiServer,
  type ApiServerOptions,
  type AuditOptions,
  type AuthenticationOptions,
  type FlowControl,
  type HealthCheck,
  type RequestTracer,
  startApiServer,
} from '@kapstan/apiserver';
import type { Aggregation } from './api-services/aggregation.ts';
import { clientAuthorities, type Pki } from './certificates/certificates.ts';
import type { FollowedCertificates } from './certificates/followed-certificates.ts';
import type { RunningLoops } from './control-loops/control-loops.ts';
import type { EncryptionAtRest } from './encryption-config/encryption-at-rest.ts';
import { issuerPages } from './issuer-pages.ts';
import { inKubernetesOrder, type PostStartHooks } from './lifetime/post-start-hooks.ts';
import { StartError } from './lifetime/start-error.ts';
import type { ControlPlaneOptions } from './options/control-plane-options.ts';
import type { OutsideIdentity } from './outside-identity/outside-identity.ts';
import { processMetrics } from './process-metrics.ts';
import type { Resources } from './resources.ts';
import { frontProxies, refuseSharedAuthority } from './server-identity/front-proxy.ts';
import type { ServerInspector } from './server-inspector/server-inspector.ts';
import type { StoreEngines } from './store/store-engines.ts';
import { storePages } from './store/store-pages.ts';
import { unenforcedWarnings } from './unenforced-resources.ts';

export interface ServerParts {
  readonly engines: StoreEngines;
  readonly pki: Pki;
  readonly certificates: FollowedCertificates;
  readonly resources: Resources;
  /** Undefined where it is off. */
  readonly flowControl: FlowControl | undefined;
  readonly hooks: PostStartHooks;
  /** Checks of startup work that continues while requests are served: the default roles, the APIServices. */
  readonly healthChecks: readonly HealthCheck[];
  readonly loops: RunningLoops;
  /** Undefined = no requests are passed on to other API servers. */
  readonly aggregation: Aggregation | undefined;
  readonly encryption: EncryptionAtRest | undefined;
  readonly audit: AuditOptions | undefined;
  readonly tracer: RequestTracer | undefined;
  /** Undefined without token issuers and token webhooks. */
  readonly outside: OutsideIdentity | undefined;
  /** Undefined where it is off. */
  readonly inspector: ServerInspector | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Starts to listen. Rejects with a StartError for the port or the address when either cannot be used. */
export async function startServing(options: ControlPlaneOptions, parts: ServerParts): Promise<ApiServer> {
  refuseSharedAuthority(options.frontProxy ?? {}, clientAuthorities(parts.pki, options.clientCa));
  try {
    return await startApiServer(serverOptions(options, parts));
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (portErrors.has(code)) throw new StartError('port', { cause: error });
    if (syscall === 'listen' || syscall === 'getaddrinfo') throw new StartError('bindAddress', { cause: error });
    throw error;
  }
}

function serverOptions(options: ControlPlaneOptions, parts: ServerParts): ApiServerOptions {
  const {
    engines,
    pki,
    resources,
    flowControl,
    hooks,
    healthChecks,
    loops,
    aggregation,
    audit,
    outside,
    tracer,
    inspector,
    clock,
    logger,
  } = parts;
  return {
    catalog: resources.served,
    authentication: {
      authenticators: resources.access.authenticators,
      ...anonymousAccess(options, outside),
      requestHeader: frontProxies(options.frontProxy ?? {}, pki.frontProxy),
    },
    aggregation: aggregation?.registrations,
    authorizer: resources.access.authorizer,
    patching: resources.patching,
    flowControl,
    tls: {
      ...pki.serving,
      clientCa: clientAuthorities(pki, options.clientCa),
    },
    host: options.bindAddress ?? '127.0.0.1',
    port: options.port ?? 0,
    healthChecks: inKubernetesOrder([
      ...resources.healthChecks,
      ...hooks.healthChecks,
      ...healthChecks,
      ...loops.healthChecks,
    ]),
    metrics: metricsOf(parts, options.metrics),
    audit,
    tracer,
    pages: [
      ...storePages({ engines, workDir: resolve(options.dataDir), forgetBefore: resources.forgetBefore }),
      ...issuerPages(resources.access.serviceAccountTokens),
      ...(inspector?.pages ?? []),
    ],
    requestLog: inspector?.requests,
    ...(options.warnsWithoutEffect === true ? { writeWarnings: unenforcedWarnings() } : {}),
    ...given(options, passedOn),
    ...(options.http === 'off' ? {} : options.http),
    clock,
    logger,
  };
}

function metricsOf(
  { loops, resources, certificates, encryption, audit, outside, aggregation, clock }: ServerParts,
  others: readonly MetricsText[] = [],
): readonly MetricsText[] {
  const perhaps = [encryption, audit?.backends, outside, aggregation?.metrics].filter((part) => part !== undefined);
  return [loops.metrics, resources.metrics, processMetrics(clock), certificates, ...perhaps, ...others];
}

/** Decides where requests may be anonymous. The configuration file overrides the option. */
function anonymousAccess(
  { isAnonymousAllowed = true }: ControlPlaneOptions,
  outside: OutsideIdentity | undefined,
): Pick<AuthenticationOptions, 'anonymous' | 'anonymousPaths'> {
  const configured = outside?.anonymous;
  if (configured === undefined) return { anonymous: isAnonymousAllowed };
  const { enabled = false, conditions = [] } = configured;
  return { anonymous: enabled, anonymousPaths: conditions.map(({ path = '' }) => path) };
}

/** Options that are passed to the server unchanged. */
const passedOn = [
  'maxRequestsInflight',
  'maxMutatingRequestsInflight',
  'maxConcurrentStreams',
  'requestTimeoutMs',
  'livezGraceMs',
  'shutdown',
  'goawayChance',
  'allowsUnsafeDeletion',
  'flags',
  'hasStatusz',
  'kubelet',
  'minWatchMs',
  'maxUserWatchBufferBytes',
  'maxServerWatchBufferBytes',
] as const;

/** Returns the named members that are defined. */
function given<T extends object, K extends keyof T>(
  options: T,
  names: readonly K[],
): { [P in K]?: Exclude<T[P], undefined> } {
  const present = names.filter((name) => options[name] !== undefined);
  return Object.fromEntries(present.map((name) => [name, options[name]])) as { [P in K]?: Exclude<T[P], undefined> };
}

/** Errors of listening that are blamed on the port; others are blamed on the address. */
const portErrors: ReadonlySet<unknown> = new Set(['EADDRINUSE', 'EACCES', 'ERR_SOCKET_BAD_PORT']);
