// ControlLoops: the loops of a control plane, started together and stopped together. Between control-plane.ts and the loops.
import {
  type Clock,
  type LogFields,
  type Logger,
  metaNamespaceKey,
  objectKey,
  type ResourceClient,
} from '@kapstan/api';
import type { ResourceCatalog } from '@kapstan/apiserver';
import { SharedInformerFactory } from '@kapstan/informers';
import { ServiceAccount } from '@kapstan/kinds/core/v1';
import { type ControlLoop, type ControlLoopContext, settledBefore } from './control-loop.ts';
import type { ControlLoopName } from './control-loop-names.ts';
import { garbageCollectorController } from './garbage-collector-controller.ts';
import { namespaceController } from './namespace-controller.ts';
import { rootCaCertificatePublisher } from './root-ca-certificate-publisher-controller.ts';
import { ServedKinds } from './served-kinds.ts';
import { defaultAccountName, serviceAccountController } from './serviceaccount-controller.ts';

export interface ControlLoopsOptions {
  readonly names: readonly ControlLoopName[];
  readonly client: ResourceClient;
  readonly catalog: ResourceCatalog;
  /** PEM of the authority that signed the serving certificate. Absent: there is no server, so none is published. */
  readonly caCert: string | undefined;
  /**
   * How long content of a namespace may still arrive after its deletion, in milliseconds: writes that were admitted before.
   * Kubernetes waits 5000, for the sake of other API servers on the same store.
   */
  readonly namespaceGraceMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const loops: Readonly<Record<ControlLoopName, ControlLoop>> = {
  'serviceaccount-controller': serviceAccountController,
  'root-ca-certificate-publisher-controller': rootCaCertificatePublisher,
  'namespace-controller': namespaceController,
  'garbage-collector-controller': garbageCollectorController,
};

export class ControlLoops {
  readonly #options: ControlLoopsOptions;
  readonly #stop = new AbortController();
  readonly #informers: SharedInformerFactory;
  readonly #kinds: ServedKinds;
  #running: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: ControlLoopsOptions) {
    const { client, catalog, clock, logger } = options;
    this.#options = options;
    const onHandlerError = (error: unknown): void =>
      logger.error('A handler of a control loop failed', { error: String(error) });
    this.#informers = new SharedInformerFactory(client, { clock, onHandlerError });
    this.#kinds = new ServedKinds({ catalog, informers: this.#informers, clock });
  }

  /** Starts them; they come up on their own. Once. */
  start(): void {
    const { names, caCert } = this.#options;
    const wanted = names.filter((name) => name !== 'root-ca-certificate-publisher-controller' || caCert !== undefined);
    this.#running = Promise.all(wanted.map((name) => this.#run(name)));
    this.#informers.start();
  }

  /** Resolves when pods can be created in the namespace "default": its account is there, if a loop makes it. */
  async whenReady(): Promise<void> {
    if (!this.#options.names.includes('serviceaccount-controller')) return;
    const wanted = objectKey('default', defaultAccountName);
    const accounts = this.#informers.informer(ServiceAccount);
    const { promise, resolve } = withResolver();
    const registration = accounts.addEventHandler({
      onAdd: (account) => {
        if (metaNamespaceKey(account as ServiceAccount) === wanted) resolve();
      },
    });
    await settledBefore(promise, this.#stop.signal);
    await registration.close();
  }

  /** Resolves when nothing of them is under way. Idempotent. */
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

  /** A loop that fails ends alone. */
  async #run(name: ControlLoopName): Promise<void> {
    const logger = loggerOf(name, this.#options.logger);
    try {
      await loops[name](this.#contextFor(logger), this.#stop.signal);
    } catch (error) {
      logger.error('The control loop ended', {
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
  }

  #contextFor(logger: Logger): ControlLoopContext {
    const { client, caCert = '', namespaceGraceMs, clock } = this.#options;
    return { client, informers: this.#informers, kinds: this.#kinds, caCert, namespaceGraceMs, clock, logger };
  }
}

/** Each line tells which loop it is from. */
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
