// AuditTrail: what one request leaves in the audit log, stage by stage. Begun by http/request/request-audit.ts, told by the handlers of http/
// on their way, written by audit-log.ts. Source: apiserver pkg/audit/{request,context}.go, endpoints/filters/audit.go (1.36).
import type { Clock, KubernetesObject, Status } from '@kapstan/api';
import type { UserInfo } from '../registry/definition/request-context.ts';
import { type AuditEvent, type ObjectReference, recordJson, recordObject } from './audit-event.ts';
import type { AuditLog } from './audit-log.ts';
import { type AuditDecision, type AuditStage, isAtLeast } from './audit-policy.ts';
import { formatGoDuration } from './go-duration.ts';

/** The request, as it came. */
type AuditedStart = Pick<
  AuditEvent,
  'auditId' | 'requestUri' | 'verb' | 'user' | 'sourceIps' | 'userAgent' | 'objectRef' | 'receivedMs'
>;

export interface AuditTrailOptions {
  readonly start: AuditedStart;
  readonly decision: AuditDecision;
  readonly log: Pick<AuditLog, 'write' | 'maxObjectBytes'>;
  readonly clock: Clock;
  /** Its answer may go on for long: there is an event when it begins. */
  readonly isLongRunning: boolean;
}

/** Requests that take longer say in their last event where the time went. */
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
  /** Of the last event. */
  #recorded: Promise<boolean> | undefined;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
    this.#objectRef = options.start.objectRef;
    this.#startMs = options.clock.monotonicNow();
  }

  /** Whether {@link AuditTrail.respond} keeps the object. */
  get keepsResponse(): boolean {
    return isAtLeast(this.#options.decision.level, 'RequestResponse');
  }

  /** Whether {@link AuditTrail.request} keeps the object. */
  get keepsRequest(): boolean {
    return isAtLeast(this.#options.decision.level, 'Request');
  }

  /** Bytes of an answer beyond which it is left out. */
  get maxObjectBytes(): number {
    return this.#options.log.maxObjectBytes;
  }

  /** The first event. False: it could not be recorded, and the request should not go on. */
  async receive(): Promise<boolean> {
    this.#write('RequestReceived', this.#options.start.receivedMs);
    return this.#recorded ?? true;
  }

  /** Settles when the answer may go on: its events so far are recorded, or lost. Undefined = at once. */
  get recorded(): Promise<unknown> | undefined {
    return this.#recorded;
  }

  /** `constraint`: the mode of impersonation that allowed it, undefined for the old one. */
  impersonate(user: UserInfo, constraint: string | undefined): void {
    this.#impersonated = { user, constraint };
  }

  /** The first value of a key counts. */
  annotate(key: string, value: string): void {
    if (!this.#annotations.has(key)) this.#annotations.set(key, value);
  }

  /** Adds to the time that was spent on something. */
  spend(what: string, durationMs: number): void {
    this.#latencies.set(what, (this.#latencies.get(what) ?? 0) + durationMs);
  }

  /** The object in the body, before anything is done with it. */
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

  /** A body that is no object: a patch, options. */
  requestBody(value: unknown): void {
    if (this.keepsRequest && value !== undefined) this.#requestObject = recordObject(value, 'kept');
  }

  /** What is answered. Of a Status more is known at every level. */
  respond(value: unknown): void {
    const { kind, apiVersion } = value as Partial<KubernetesObject>;
    if (kind === undefined || apiVersion === undefined) return;
    if (kind === 'Status') this.#responseStatus = statusMembers(value as Status);
    if (!this.keepsResponse) return;
    const recorded = recordObject(value, this.#managedFields);
    if (Buffer.byteLength(recorded) > this.maxObjectBytes) this.truncate();
    else this.#responseObject = recorded;
  }

  /** The same from bytes that are JSON, and no Status. */
  respondJson(bytes: Uint8Array): void {
    if (!this.keepsResponse) return;
    if (bytes.length > this.maxObjectBytes) this.truncate();
    else this.#responseObject = recordJson(bytes, this.#managedFields);
  }

  /** The answer is too large to be recorded: no object is, and the event says so. Source: plugin/pkg/audit/truncate. */
  truncate(): void {
    this.#requestObject = undefined;
    this.#responseObject = undefined;
    this.annotate('audit.k8s.io/truncated', 'true');
  }

  /** The head of the answer goes out. */
  begin(code: number): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'answering';
    this.#responseStatus = { ...this.#responseStatus, code };
    if (this.#options.isLongRunning) this.#write('ResponseStarted');
  }

  /** Nothing more will come. Counts once. */
  complete(): void {
    if (this.#phase === 'over') return;
    if (this.#responseStatus === undefined) {
      this.#responseStatus = { status: 'Success', message: 'Connection closed early', code: 200 };
      if (this.#options.isLongRunning) this.#write('ResponseStarted');
    }
    this.#addLatencies();
    this.#phase = 'over';
    // Of those who are not known there is one event, that of their refusal.
    if (this.#options.start.user !== undefined) this.#write('ResponseComplete');
  }

  /** The server is at fault, and had not foreseen it. */
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
    // A watch is as long as its client wants.
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
