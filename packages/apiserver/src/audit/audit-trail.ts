// AuditTrail collects what the audit log records of one request, stage by stage. http/request/request-audit.ts begins
// it, the handlers of http/ fill it, audit-log.ts writes it. Source: apiserver pkg/audit/{request,context}.go,
// endpoints/filters/audit.go (1.36).
import type { Clock, KubernetesObject, Status } from '@kapstan/api';
import type { UserInfo } from '../registry/definition/request-context.ts';
import { type AuditEvent, type ObjectReference, recordJson, recordObject } from './audit-event.ts';
import type { AuditLog } from './audit-log.ts';
import { type AuditDecision, type AuditStage, isAtLeast } from './audit-policy.ts';
import { formatGoDuration } from './go-duration.ts';

/** The request as it came. */
type AuditedStart = Pick<
  AuditEvent,
  'auditId' | 'requestUri' | 'verb' | 'user' | 'sourceIps' | 'userAgent' | 'objectRef' | 'receivedMs'
>;

export interface AuditTrailOptions {
  readonly start: AuditedStart;
  readonly decision: AuditDecision;
  readonly log: Pick<AuditLog, 'write' | 'maxObjectBytes'>;
  readonly clock: Clock;
  /** True when the answer may take long, so that its beginning has an event too. */
  readonly isLongRunning: boolean;
}

/** The last event of a slower request says where the time was spent. */
const slowMs = 500;

export class AuditTrail {
  readonly #options: AuditTrailOptions;
  readonly #annotations = new Map<string, string>();
  readonly #latencies = new Map<string, number>();
  readonly #startMs: number;
  #objectRef: ObjectReference | undefined;
  #impersonated: { readonly user: UserInfo; readonly constraint: string | undefined } | undefined;
  #responseStatus: Partial<Status> | undefined;
  #requestObject: string | undefined;
  #responseObject: string | undefined;
  #phase: 'open' | 'answering' | 'over' = 'open';
  /** Result of the last event. */
  #recorded: Promise<boolean> | undefined;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
    this.#objectRef = options.start.objectRef;
    this.#startMs = options.clock.monotonicNow();
  }

  /** True when {@link AuditTrail.respond} keeps the object. */
  get keepsResponse(): boolean {
    return isAtLeast(this.#options.decision.level, 'RequestResponse');
  }

  /** True when {@link AuditTrail.request} keeps the object. */
  get keepsRequest(): boolean {
    return isAtLeast(this.#options.decision.level, 'Request');
  }

  /** Answers with more bytes are left out. */
  get maxObjectBytes(): number {
    return this.#options.log.maxObjectBytes;
  }

  /** Records the first event. Resolves to false when that failed and the request should not go on. */
  async receive(): Promise<boolean> {
    this.#write('RequestReceived', this.#options.start.receivedMs);
    return this.#recorded ?? true;
  }

  /** Settles when the answer may go on, because its events so far are recorded or lost. Undefined = at once. */
  get recorded(): Promise<unknown> | undefined {
    return this.#recorded;
  }

  /** `constraint`: the impersonation mode that allowed it; undefined for the old mode. */
  impersonate(user: UserInfo, constraint: string | undefined): void {
    this.#impersonated = { user, constraint };
  }

  /** Adds an annotation; the first value of a key counts. */
  annotate(key: string, value: string): void {
    if (!this.#annotations.has(key)) this.#annotations.set(key, value);
  }

  /** Adds to the time spent on one thing. */
  spend(what: string, durationMs: number): void {
    this.#latencies.set(what, (this.#latencies.get(what) ?? 0) + durationMs);
  }

  /** Records the object in the body before it is changed. */
  request(object: KubernetesObject): void {
    const { name = '', namespace = '', uid = '', resourceVersion = '' } = object.metadata ?? {};
    const known = this.#objectRef ?? {};
    this.#objectRef = {
      ...known,
      name: known.name || name,
      namespace: known.namespace || namespace,
      uid: known.uid || uid,
      resourceVersion: known.resourceVersion || String(resourceVersion),
    };
    if (this.keepsRequest) this.#requestObject = recordObject(object, this.#managedFields);
  }

  /** Records a body that is not an object: a patch or options. */
  requestBody(value: unknown): void {
    if (this.keepsRequest && value !== undefined) this.#requestObject = recordObject(value, 'kept');
  }

  /** Records the answer. A Status is recorded in part at every level. */
  respond(value: unknown): void {
    const { kind, apiVersion } = value as Partial<KubernetesObject>;
    if (kind === undefined || apiVersion === undefined) return;
    if (kind === 'Status') this.#responseStatus = statusMembers(value as Status);
    if (!this.keepsResponse) return;
    const recorded = recordObject(value, this.#managedFields);
    if (Buffer.byteLength(recorded) > this.maxObjectBytes) this.truncate();
    else this.#responseObject = recorded;
  }

  /** Records an answer given as JSON bytes, which is no Status. */
  respondJson(bytes: Uint8Array): void {
    if (!this.keepsResponse) return;
    if (bytes.length > this.maxObjectBytes) this.truncate();
    else this.#responseObject = recordJson(bytes, this.#managedFields);
  }

  /**
   * Records that the answer is too large to be recorded; the event then has no object. Source:
   * plugin/pkg/audit/truncate.
   */
  truncate(): void {
    this.#requestObject = undefined;
    this.#responseObject = undefined;
    this.annotate('audit.k8s.io/truncated', 'true');
  }

  /** Records that the head of the answer is sent. */
  begin(code: number): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'answering';
    this.#responseStatus = { ...this.#responseStatus, code };
    if (this.#options.isLongRunning) this.#write('ResponseStarted');
  }

  /** Records the end of the request, once. */
  complete(): void {
    if (this.#phase === 'over') return;
    if (this.#responseStatus === undefined) {
      this.#responseStatus = { status: 'Success', message: 'Connection closed early', code: 200 };
      if (this.#options.isLongRunning) this.#write('ResponseStarted');
    }
    this.#addLatencies();
    this.#phase = 'over';
    // A request without a known user has one event, which records its refusal.
    if (this.#options.start.user !== undefined) this.#write('ResponseComplete');
  }

  /** Records an unexpected error of the server. */
  panic(error: Error): void {
    if (this.#phase === 'over') return;
    const message = `APIServer panic'd: ${error.message}`;
    this.#responseStatus = { status: 'Failure', message, reason: 'InternalError', code: 500 };
    this.#phase = 'over';
    this.#write('Panic');
  }

  get #managedFields(): 'kept' | 'omitted' {
    return this.#options.decision.omitManagedFields ? 'omitted' : 'kept';
  }

  #addLatencies(): void {
    const totalMs = this.#options.clock.monotonicNow() - this.#startMs;
    // The client decides how long a watch takes.
    if (this.#options.start.verb === 'watch' || totalMs <= slowMs) return;
    for (const [what, ms] of [...this.#latencies, ['total', totalMs] as const]) {
      if (ms > 0) this.annotate(`apiserver.latency.k8s.io/${what}`, formatGoDuration(ms));
    }
  }

  #write(stage: AuditStage, stageMs: number = this.#options.clock.now()): void {
    const { decision, start, log } = this.#options;
    if (decision.omitStages.has(stage)) return;
    const recorded = log.write({
      ...start,
      level: decision.level,
      stage,
      stageMs,
      objectRef: this.#objectRef,
      impersonatedUser: this.#impersonated?.user,
      impersonationConstraint: this.#impersonated?.constraint,
      responseStatus: this.#responseStatus,
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      annotations: this.#annotations,
    });
    this.#recorded = recorded;
    void recorded.then(() => {
      if (this.#recorded === recorded) this.#recorded = undefined;
    });
  }
}

function statusMembers({ status, message, reason, details, code }: Status): Partial<Status> {
  return {
    ...(status !== undefined && { status }),
    ...(message !== undefined && { message }),
    ...(reason !== undefined && reason !== '' && { reason }),
    ...(details !== undefined && { details }),
    ...(code !== undefined && { code }),
  };
}
