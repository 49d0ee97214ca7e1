// ConfigurationKeeper maintains one object for the API servers: it writes missing parts, and restores the authorities when somebody changes
// or removes them. Every replica restores them; only the leader writes the rest, so that an old and a new version of a program do not undo
// each other's changes during a rollout.
import type { Clock, KubernetesObject, Logger, ResourceClient } from '@kapstan/api';
import { Backoff, isJsonObject } from '@kapstan/api/internal';
import { SharedInformer } from '@kapstan/informers';
import { isSignedBy } from './certificate-plan.ts';
import type { ServedCertificates } from './certificate-source.ts';
import { followAgain } from './follow-again.ts';
import { Wake } from './wake.ts';
import { decodedBundle, encodedBundle, type KeptObject } from './webhook-objects.ts';

export interface KeeperPorts {
  readonly client: ResourceClient;
  readonly fieldManager: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** True = this process may write all of its fields. */
  readonly isLeader: () => boolean;
  /** Returns the certificates in use now, after a change that another process has made. */
  readonly refreshedCertificates: () => Promise<ServedCertificates | undefined>;
  /** Called when {@link ConfigurationKeeper.trusts} may have changed. */
  readonly onChange: () => void;
}

/** Backoff that slows down two programs that undo each other's changes. */
const pauses = { initialMs: 200, maxMs: 30_000, factor: 2, jitter: 0.5, resetAfterMs: 60_000 } as const;

type Write = 'apply' | 'bundle';

export class ConfigurationKeeper {
  readonly #kept: KeptObject;
  readonly #ports: KeeperPorts;
  readonly #wake: Wake;
  readonly #backoff: Backoff;
  #certificates: ServedCertificates | undefined;
  #present: KubernetesObject | undefined;
  /** The authorities at all places, as last reported. */
  #trusted = '';
  #hasSynced = false;
  #failure: string | undefined;
  #mustApply = false;
  /** True = no other process has written since this one last applied, because this one leads. */
  #hasApplied = false;
  #lastWriteMs = Number.NEGATIVE_INFINITY;
  #work: Promise<unknown> = Promise.resolve();

  constructor(kept: KeptObject, ports: KeeperPorts) {
    this.#kept = kept;
    this.#ports = ports;
    this.#wake = new Wake(ports.clock);
    this.#backoff = new Backoff(pauses, { clock: ports.clock });
  }

  /** Works until the signal aborts. */
  start(certificates: ServedCertificates | undefined, signal: AbortSignal): void {
    this.#certificates = certificates;
    this.#work = Promise.all([this.#followAgain(signal), this.#run(signal)]);
  }

  /** Resolves when nothing is under way any more, after the signal has aborted. */
  async ended(): Promise<void> {
    await this.#work;
  }

  /** Writes the authorities of these certificates from now on. */
  use(certificates: ServedCertificates): void {
    this.#certificates = certificates;
    this.#wake.now();
  }

  /**
   * Applies once when this process begins to lead, because server-side apply drops fields of an earlier program
   * version. A process that leads from the start has done it already if the object was missing or differed.
   */
  lead(): void {
    if (this.#hasApplied) return;
    this.#mustApply = true;
    this.#wake.now();
  }

  /** Returns the reason why API servers cannot call yet; undefined = they can. */
  get problem(): string | undefined {
    const { resource, name } = this.#kept;
    const what = `${resource.kind} ${name}`;
    if (this.#present === undefined)
      return `${what} ${this.#hasSynced ? 'does not exist' : 'is not known yet'}${this.#why}`;
    return this.#isServedTrusted ? undefined : `${what} lacks the certificate authority${this.#why}`;
  }

  get #bundle(): string | undefined {
    return this.#certificates?.bundle;
  }

  get #configs(): ReturnType<KeptObject['clientConfigs']> {
    return this.#present === undefined ? [] : this.#kept.clientConfigs(this.#present);
  }

  /** True also while the next authority is not trusted yet, because nothing is signed with it. */
  get #isServedTrusted(): boolean {
    if (this.trusts(this.#bundle)) return true;
    const chain = this.#certificates?.serving.cert ?? '';
    return (
      this.#configs.length > 0 &&
      this.#configs.every(({ config: { caBundle = '' } }) => isSignedBy(chain, decodedBundle(caBundle)))
    );
  }

  get #why(): string {
    return this.#failure === undefined ? '' : `: ${this.#failure}`;
  }

  /** True = the object is known to have these authorities at all places of the program. */
  trusts(bundle: string | undefined): boolean {
    const configs = this.#configs;
    if (bundle === undefined) return configs.length > 0;
    return configs.length > 0 && configs.every(({ config }) => config.caBundle === encodedBundle(bundle));
  }

  #followAgain(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#ports;
    const { resource, name } = this.#kept;
    const onFailure = (error: unknown): void =>
      logger.error('cannot follow the configuration of webhooks, trying again', { kind: resource.kind, name, error });
    return followAgain(() => this.#follow(signal), { clock, signal, onFailure });
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { client, logger, clock } = this.#ports;
    const { resource, name } = this.#kept;
    await using informer = new SharedInformer(client.listerWatcher(resource), {
      resource,
      fieldSelector: `metadata.name=${name}`,
      clock,
      logger,
    });
    informer.start();
    let seen: KubernetesObject | undefined;
    for await (const event of informer.watchEvents({ signal })) {
      if (event.type === 'synced') this.#hasSynced = true;
      else seen = event.type === 'deleted' ? undefined : (event.object as KubernetesObject);
      // An informer that resumes does not report earlier deletions.
      this.#see(seen);
      this.#wake.now();
    }
  }

  #see(present: KubernetesObject | undefined): void {
    this.#present = present;
    const trusted = JSON.stringify(this.#configs.map(({ config }) => config.caBundle ?? ''));
    if (trusted === this.#trusted) return;
    this.#trusted = trusted;
    this.#ports.onChange();
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    let waitMs = Number.POSITIVE_INFINITY;
    for (;;) {
      await this.#wake.wait(waitMs, signal);
      if (signal.aborted) return;
      waitMs = Number.POSITIVE_INFINITY;
      try {
        if (this.#needed() !== undefined) await this.#write(signal);
        this.#failure = undefined;
      } catch (error) {
        if (signal.aborted) return;
        this.#tell(error instanceof Error ? error.message : String(error));
        waitMs = this.#backoff.next();
      }
    }
  }

  #tell(text: string): void {
    const { resource, name } = this.#kept;
    if (text !== this.#failure)
      this.#ports.logger.warn(`failed to write ${resource.kind} ${name}, trying again: ${text}`);
    this.#failure = text;
  }

  #needed(): Write | undefined {
    if (!this.#hasSynced) return undefined;
    const present = this.#present;
    const isLeader = this.#ports.isLeader();
    if (present === undefined) return this.#kept.isOwn ? 'apply' : undefined;
    if (isLeader && this.#mustApply) return 'apply';
    if (covers(present, this.#kept.fields(this.#bundle))) return undefined;
    const configs = this.#kept.clientConfigs(present);
    if (isLeader || configs.length === 0) return 'apply';
    return this.#bundle === undefined || this.trusts(this.#bundle) ? undefined : 'bundle';
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const isSoon = clock.monotonicNow() - this.#lastWriteMs < pauses.resetAfterMs;
    if (isSoon) await new Wake(clock).wait(this.#backoff.next(), signal);
    // Another replica may have made new authorities, which an old bundle must not replace.
    this.#certificates = await this.#ports.refreshedCertificates();
    const write = this.#needed();
    if (signal.aborted || write === undefined) return;
    this.#lastWriteMs = clock.monotonicNow();
    const isLeader = this.#ports.isLeader();
    const written = write === 'apply' ? await this.#apply(signal) : await this.#patch(signal);
    this.#see(written);
    if (write === 'apply') {
      this.#mustApply = false;
      this.#hasApplied = isLeader;
    }
    const { resource, name } = this.#kept;
    this.#ports.logger.info(`wrote ${resource.kind} ${name}`, { write });
  }

  #apply(signal: AbortSignal): Promise<KubernetesObject> {
    const { client, fieldManager } = this.#ports;
    const { resource } = this.#kept;
    return client.apply(resource, this.#kept.fields(this.#bundle), { fieldManager, force: true, signal });
  }

  /** Changes nothing but the authorities. */
  #patch(signal: AbortSignal): Promise<KubernetesObject> {
    const { client, fieldManager } = this.#ports;
    const { resource, name } = this.#kept;
    const value = encodedBundle(this.#bundle ?? '');
    const configs = this.#kept.clientConfigs(this.#present ?? {});
    const body = configs.flatMap(({ place, name: webhook }) => [
      ...(webhook === undefined ? [] : [{ op: 'test', path: `${place}/name`, value: webhook }]),
      { op: 'add', path: `${place}/clientConfig/caBundle`, value },
    ]);
    return client.patch(resource, { name }, { type: 'json', body }, { fieldManager, signal });
  }
}

/** True when the value has all fields of the other one. Lists of objects with names are compared by name. */
function covers(value: unknown, fields: unknown): boolean {
  if (isJsonObject(fields)) {
    if (!isJsonObject(value)) return false;
    return Object.entries(fields).every(([name, field]) => covers(value[name], field));
  }
  if (!Array.isArray(fields)) return value === fields;
  if (!Array.isArray(value)) return false;
  const isByName = fields.length > 0 && fields.every((item) => isJsonObject(item) && 'name' in item);
  if (isByName)
    return fields.every((item) =>
      value.some((other) => (other as { name?: unknown }).name === item.name && covers(other, item)),
    );
  return value.length === fields.length && fields.every((item, at) => covers(value[at], item));
}
