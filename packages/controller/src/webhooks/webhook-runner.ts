// WebhookRunner serves the hooks of a manager's controllers over HTTPS: certificates, server, configurations. Started
// before the definitions are installed, because a server may need the conversion to list the objects.
import { type Clock, delay, type Logger, type ResourceClient } from '@kapstan/api';
import type { ProgramHooks } from '@kapstan/api/internal';
import type { Registry } from 'prom-client';
import { defaultTimes } from './certificate-plan.ts';
import type { CertificateSource, ServedCertificates } from './certificate-source.ts';
import { MemoryCertificates, SecretCertificates } from './certificate-store.ts';
import { ConfigurationKeeper } from './configuration-keeper.ts';
import { FileCertificates } from './file-certificates.ts';
import { OwnCertificates } from './own-certificates.ts';
import { WebhookMetrics } from './webhook-metrics.ts';
import { certificatesSecret } from './webhook-names.ts';
import { conversionOf, keptObjects, type WebhookAddress } from './webhook-objects.ts';
import { isFromFiles, type WebhookOptions } from './webhook-options.ts';
import { WebhookServer } from './webhook-server.ts';

export interface WebhookRunnerPorts {
  readonly hooks: ProgramHooks;
  readonly options: WebhookOptions;
  /** Name of the configurations, and field manager. */
  readonly name: string;
  readonly client: ResourceClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly isLeader: () => boolean;
}

/** Large enough for two of the largest conversion reviews. */
const maxBodyBytes = 256 * 1024 * 1024;

export class WebhookRunner {
  readonly #ports: WebhookRunnerPorts;
  readonly #over = new AbortController();
  #certificates: CertificateSource | undefined;
  #current: ServedCertificates | undefined;
  #server: WebhookServer | undefined;
  #address: WebhookAddress = { service: undefined, url: '' };
  #keepers: readonly ConfigurationKeeper[] = [];
  #port: number | undefined;

  constructor(ports: WebhookRunnerPorts) {
    this.#ports = ports;
  }

  /** Undefined until it listens. */
  get port(): number | undefined {
    return this.#port;
  }

  /** Resolves when it listens. Rejects when it cannot, and when the signal aborts. */
  async start(stop: AbortSignal): Promise<void> {
    const { hooks, options, clock, logger, registry } = this.#ports;
    const { port = 9443, host, maxInFlight = 2000 } = options;
    const onStop = (): void => this.#over.abort(stop.reason);
    stop.addEventListener('abort', onStop, { once: true });
    try {
      const source = this.#source();
      this.#certificates = source;
      const onChange = (certificates: ServedCertificates): void => this.#use(certificates);
      const { serving } = await source.start(
        { onChange, isTrusted: (bundle) => this.#isTrusted(bundle) },
        this.#over.signal,
      );
      const metrics = new WebhookMetrics(registry);
      const keyPair = serving;
      const limits = { maxInFlight, maxBodyBytes };
      const server = new WebhookServer({ hooks, keyPair, port, host, ...limits, metrics, clock, logger });
      this.#port = await server.listen();
      this.#server = server;
      if (this.#current !== undefined) server.use(this.#current.serving);
    } finally {
      // After the start, the stop signal no longer ends the server at once: calls are answered until the drain.
      stop.removeEventListener('abort', onStop);
    }
    logger.info('serving webhooks', { port: this.#port });
    this.#address = addressOf(options, this.#port);
    this.#startKeepers();
  }

  /** Writes again the parts that only the leader writes. */
  lead(): void {
    for (const keeper of this.#keepers) keeper.lead();
  }

  /** Returns the conversion of definitions that are installed now; undefined when something else writes it. */
  get conversion(): object | undefined {
    if (this.#ports.options.configurations === false || this.#port === undefined) return undefined;
    return conversionOf(this.#address, this.#current?.bundle);
  }

  /** Returns the reason why API servers cannot call yet; undefined = they can. */
  get problem(): string | undefined {
    if (this.#port === undefined) return 'not listening yet';
    const problems = this.#keepers.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
    return problems.length === 0 ? undefined : problems.join(', ');
  }

  /**
   * Answers until `leaveMs` have passed since the stop, then finishes calls under way for at most the grace period, and
   * ends everything. Idempotent.
   */
  async stop({
    stoppedAtMs,
    gracePeriodMs,
  }: {
    readonly stoppedAtMs: number;
    readonly gracePeriodMs: number;
  }): Promise<void> {
    const { clock, options } = this.#ports;
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) {
      server.leave();
      const leftMs = Math.min(options.leaveMs ?? 5000, gracePeriodMs) - (clock.monotonicNow() - stoppedAtMs);
      if (leftMs > 0) await delay(clock, leftMs);
      await server.close(Math.max(1000, gracePeriodMs - (clock.monotonicNow() - stoppedAtMs)));
    }
    this.#over.abort(new Error('the webhooks are stopped'));
    await Promise.all([...this.#keepers.map((keeper) => keeper.ended()), this.#certificates?.ended()]);
  }

  #use(certificates: ServedCertificates): void {
    // This call comes first, because it throws for certificates that cannot be used.
    this.#server?.use(certificates.serving);
    this.#current = certificates;
    for (const keeper of this.#keepers) keeper.use(certificates);
  }

  /** Writes by others are not known here, so the overlap must suffice. */
  #isTrusted(bundle: string): boolean {
    if (this.#ports.options.configurations === false) return true;
    return this.#keepers.length > 0 && this.#keepers.every((keeper) => keeper.trusts(bundle));
  }

  #startKeepers(): void {
    const { hooks, options, name, client, clock, logger, isLeader } = this.#ports;
    if (options.configurations === false) return;
    const certificates = this.#certificates;
    const ports = {
      client,
      fieldManager: name,
      clock,
      logger,
      isLeader,
      refreshedCertificates: async () => {
        await certificates?.refresh();
        return this.#current;
      },
      onChange: () => certificates?.wake(),
    };
    this.#keepers = keptObjects(hooks, name, this.#address).map((kept) => new ConfigurationKeeper(kept, ports));
    for (const keeper of this.#keepers) keeper.start(this.#current, this.#over.signal);
  }

  #source(): CertificateSource {
    const { options, client, clock, logger, name } = this.#ports;
    const { certificates = {} } = options;
    if (isFromFiles(certificates)) return new FileCertificates(certificates, { clock, logger });
    const { times = {} } = certificates;
    const secret = certificatesSecret(options);
    const ports = { client, fieldManager: name, clock, logger };
    const store = secret === undefined ? new MemoryCertificates() : new SecretCertificates(secret, ports);
    return new OwnCertificates({ store, hosts: hostsOf(options), times: { ...defaultTimes, ...times }, clock, logger });
  }
}

/** Names under which API servers call. Source: apiserver util/webhook, the server name of a service. */
function hostsOf({ service, url = '' }: WebhookOptions): readonly string[] {
  if (service === undefined) return [new URL(url).hostname.replace(/^\[|\]$/g, '')];
  const { name, namespace } = service;
  return [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
}

function addressOf({ service, url = '' }: WebhookOptions, port: number): WebhookAddress {
  if (service !== undefined) return { service, url: '' };
  const { hostname, host } = new URL(url);
  const hasPort = /:\d+\/?$/.test(url);
  return {
    service,
    url: `https://${hasPort && host === hostname ? `${host}:443` : hasPort ? host : `${hostname}:${port}`}`,
  };
}
