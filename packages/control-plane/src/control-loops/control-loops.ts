// ControlLoops starts and stops all loops of a control plane together. Between control-plane.ts and the loops.

import { setMaxListeners } from 'node:events';
import {
  type Clock,
  delay,
  type LogFields,
  type Logger,
  metaNamespaceKey,
  objectKey,
  type ResourceClient,
} from '@kapstan/api';
import type { MetricsText } from '@kapstan/api/internal';
import type { HealthCheck, ResourceCatalog } from '@kapstan/apiserver';
import type { LeaderElector } from '@kapstan/controller';
import {
  type SharedFactoryInformer,
  SharedInformerFactory,
  type SharedInformerFactoryOptions,
} from '@kapstan/informers';
import { ServiceAccount } from '@kapstan/kinds/core/v1';
import type { QuotaAdmission, SecretTokenIssuer } from '@kapstan/kubernetes';
import { clusterRoleAggregationController } from './clusterrole-aggregation-controller.ts';
import type { ControlLoop } from './control-loop.ts';
import { controlLoopMetrics } from './control-loop-metrics.ts';
import type { ControlLoopName } from './control-loop-names.ts';
import { garbageCollectorController } from './garbage-collector-controller.ts';
import { namespaceController } from './namespace-controller.ts';
import { persistentVolumeProtectionController } from './persistentvolume-protection-controller.ts';
import { persistentVolumeClaimProtectionController } from './persistentvolumeclaim-protection-controller.ts';
import { resourceQuotaController } from './resourcequota-controller.ts';
import { rootCaCertificatePublisher } from './root-ca-certificate-publisher-controller.ts';
import { ServedKinds } from './served-kinds.ts';
import { defaultAccountName, serviceAccountController } from './serviceaccount-controller.ts';
import { serviceAccountTokenController } from './serviceaccount-token-controller.ts';
import { SupervisedLoop } from './supervised-loop.ts';
import { validatingAdmissionPolicyStatusController } from './validatingadmissionpolicy-status-controller.ts';
import { volumeAttributesClassProtectionController } from './volumeattributesclass-protection-controller.ts';

export interface ControlLoopsOptions {
  readonly names: readonly ControlLoopName[];
  readonly client: ResourceClient;
  readonly catalog: ResourceCatalog;
  /**
   * PEM of the authority that signed the serving certificate. Undefined without a server; then no certificate is published and no tokens
   * are made.
   */
  readonly caCert: string | undefined;
  readonly secretTokens: SecretTokenIssuer;
  /** The quotas of this server, as its admission sees them. */
  readonly quotas: QuotaAdmission;
  /**
   * Time for which content may still arrive in a namespace after its deletion from writes admitted earlier, in milliseconds. Kubernetes
   * waits 5000 ms because other API servers may write to the same store.
   */
  readonly namespaceGraceMs: number;
  /** Loops that replace the real ones of these names. Meant for tests. */
  readonly loops?: Readonly<Partial<Record<ControlLoopName, ControlLoop>>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The election of the loops. */
export interface InspectedElection {
  /** "namespace/name" of the Lease. */
  readonly lease: string;
  readonly elector: Pick<LeaderElector, 'identity' | 'isLeader' | 'leader' | 'renewedMsAgo'>;
}

/** The data about the loops that the inspector shows. */
export interface InspectedLoops {
  readonly loops: readonly SupervisedLoop[];
  readonly informers: Iterable<SharedFactoryInformer>;
  /** Undefined where the loops run without one. */
  readonly election?: InspectedElection;
}

/** The view that a control plane has of its loops, wherever they run. */
export interface RunningLoops {
  readonly healthChecks: readonly HealthCheck[];
  readonly metrics: MetricsText;
  readonly inspected: InspectedLoops;
  start(): void;
  whenReady(): Promise<void>;
  close(): Promise<void>;
}

const loops: Readonly<Record<ControlLoopName, ControlLoop>> = {
  'serviceaccount-controller': serviceAccountController,
  'serviceaccount-token-controller': serviceAccountTokenController,
  'root-ca-certificate-publisher-controller': rootCaCertificatePublisher,
  'namespace-controller': namespaceController,
  'garbage-collector-controller': garbageCollectorController,
  'clusterrole-aggregation-controller': clusterRoleAggregationController,
  'persistentvolumeclaim-protection-controller': persistentVolumeClaimProtectionController,
  'persistentvolume-protection-controller': persistentVolumeProtectionController,
  'volumeattributesclass-protection-controller': volumeAttributesClassProtectionController,
  'resourcequota-controller': resourceQuotaController,
  'validatingadmissionpolicy-status-controller': validatingAdmissionPolicyStatusController,
};

/** Loops that serve clients of the server. */
const forClients: ReadonlySet<ControlLoopName> = new Set([
  'root-ca-certificate-publisher-controller',
  'serviceaccount-token-controller',
]);

/** This is longer than the garbage collector waits for kinds that cannot be listed. */
export const readyTimeoutMs = 60_000;

export class ControlLoops implements RunningLoops {
  readonly #options: ControlLoopsOptions;
  readonly #stop = new AbortController();
  readonly #informers: SharedInformerFactory;
  readonly #kinds: ServedKinds;
  readonly #loops: readonly SupervisedLoop[];
  #running: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: ControlLoopsOptions) {
    const { client, catalog, clock, logger, names, caCert } = options;
    this.#options = options;
    // Each loop listens to the signal several times, which is not a leak.
    setMaxListeners(0, this.#stop.signal);
    const onHandlerError: SharedInformerFactoryOptions['onHandlerError'] = (error, change, informer) =>
      logger.error('a handler of a control loop failed', { informer, key: change?.key, error });
    this.#informers = new SharedInformerFactory(client, { clock, logger, onHandlerError });
    this.#kinds = new ServedKinds({ catalog, informers: this.#informers, clock });
    const wanted = names.filter((name) => caCert !== undefined || !forClients.has(name));
    this.#loops = wanted.map((name) => this.#supervise(name));
  }

  /**
   * Health checks under kube-apiserver's names for post-start hooks. Each is unhealthy before the first sync and while its loop is down.
   * /livez reports only the time before the first sync, because restarting the process helps no more than restarting the loop.
   */
  get healthChecks(): readonly HealthCheck[] {
    return this.#loops.flatMap((loop): HealthCheck[] => {
      const name = `poststarthook/${loop.name}`;
      return [
        { name, endpoints: ['healthz', 'readyz'], check: () => loop.readiness() },
        {
          name,
          endpoints: ['livez'],
          isPartOfStart: true,
          check: () => (loop.hasSynced ? undefined : loop.readiness()),
        },
      ];
    });
  }

  get metrics(): MetricsText {
    return { metrics: () => controlLoopMetrics(this.#loops) };
  }

  get inspected(): InspectedLoops {
    return { loops: this.#loops, informers: this.#informers.informers() };
  }

  /** Starts the loops; they sync in the background. Call it once. */
  start(): void {
    this.#running = Promise.all(this.#loops.map((loop) => loop.run(this.#stop.signal)));
    this.#informers.start();
  }

  /**
   * Resolves when every loop has synced and pods can be created in the namespace "default": if a loop creates the default service account,
   * it exists. Rejects after one minute, and when the loops are closed, naming each loop that is not ready, with the reason.
   */
  async whenReady(): Promise<void> {
    if (this.#loops.length === 0) return;
    const account = this.#followDefaultAccount();
    const over = new AbortController();
    const late = delay(this.#options.clock, readyTimeoutMs, AbortSignal.any([over.signal, this.#stop.signal]));
    try {
      const ready = Promise.all([account.promise, ...this.#loops.map((loop) => loop.whenSynced())]);
      await Promise.race([ready, late.then(() => Promise.reject(this.#notReady()))]);
    } finally {
      // Without a reason Node would make a DOMException, whose class takes milliseconds at its first use.
      over.abort(new Error('the loops are no longer waited for'));
      await account.close();
    }
  }

  /** Resolves when none of the loops' work is in progress. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort(new Error('the control loops are stopped'));
    await this.#running;
    await this.#kinds.close();
    await this.#informers.close();
  }

  #followDefaultAccount(): { readonly promise: Promise<void>; close(): Promise<void> } {
    if (!this.#options.names.includes('serviceaccount-controller')) {
      return { promise: Promise.resolve(), close: () => Promise.resolve() };
    }
    const wanted = objectKey('default', defaultAccountName);
    const { promise, resolve } = withResolver();
    const registration = this.#informers.informer(ServiceAccount).addEventHandler({
      onAdd: (account) => {
        if (metaNamespaceKey(account) === wanted) resolve();
      },
    });
    return { promise, close: () => registration.close() };
  }

  #notReady(): Error {
    const reasons = this.#loops.flatMap((loop) => {
      const reason = loop.readiness();
      return reason === undefined ? [] : [`${loop.name}: ${reason.message}`];
    });
    const why = reasons.length > 0 ? reasons.join('; ') : 'service account "default" is missing in namespace "default"';
    return new Error(`the control loops were not ready after ${readyTimeoutMs / 1000} s: ${why}`);
  }

  #supervise(name: ControlLoopName): SupervisedLoop {
    const { client, catalog, caCert = '', secretTokens, quotas, namespaceGraceMs, clock } = this.#options;
    const logger = loggerOf(name, this.#options.logger);
    const shared = { informers: this.#informers, kinds: this.#kinds };
    const ports = { client, catalog, caCert, secretTokens, quotas, namespaceGraceMs };
    const context = { ...ports, ...shared, clock, logger };
    return new SupervisedLoop({ name, loop: this.#options.loops?.[name] ?? loops[name], context });
  }
}

/** Adds the name of the loop to each line. */
function loggerOf(loop: string, logger: Logger): Logger {
  const write =
    (level: keyof Logger) =>
    (message: string, fields?: LogFields): void =>
      logger[level](message, { loop, ...fields });
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function withResolver(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
