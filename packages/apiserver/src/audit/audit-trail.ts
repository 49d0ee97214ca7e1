// AuditTrail collects the record of one request, stage by stage. http/request/request-audit.ts begins it, the handlers
// of http/ fill it, audit-backends.ts sends it. Source: apiserver pkg/audit/{request,context}.go,
// endpoints/filters/audit.go (1.36).
import type { Clock, KubernetesObject, Status } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { UserInfo } from '../registry/definition/request-context.ts';
import { formatGoDuration } from '../schema/go/go-duration.ts';
import type { AuditBackends } from './audit-backends.ts';
import {
  type AuditEvent,
  type ObjectReference,
  type RecordedObject,
  recordInSlices,
  recordJsonInSlices,
} from './audit-event.ts';
import { type AuditDecision, type AuditStage, isAtLeast } from './audit-policy.ts';
import { truncatedAnnotation } from './audit-record.ts';

/** The request as it arrived. */
type AuditedStart = Pick<
  AuditEvent,
  'auditId' | 'requestUri' | 'verb' | 'user' | 'sourceIps' | 'userAgent' | 'objectRef' | 'receivedMs'
>;

export interface AuditTrailOptions {
  readonly start: AuditedStart;
  readonly decision: AuditDecision;
  readonly backends: Pick<AuditBackends, 'write' | 'maxObjectBytes' | 'reportLoss'>;
  readonly clock: Clock;
  /** True when the answer may take long, so that its beginning has an event too. */
  readonly isLongRunning: boolean;
}

/** Requests slower than this have the time of each step in their last event. */
const slowMs = 500;

export class AuditTrail {
  readonly #options: AuditTrailOptions;
  readonly #annotations = new Map<string, string>();
  readonly #latencies = new Map<string, number>();
  readonly #startMs: number;
  #objectRef: ObjectReference | undefined;
  #impersonated: { readonly user: UserInfo; readonly constraint: string | undefined } | undefined;
  #responseStatus: Partial<Status> | undefined;
  #requestObject: RecordedObject | undefined;
  #responseObject: RecordedObject | undefined;
  /** The answer that the next event records. */
  #response: SlicedWork<RecordedObject> | undefined;
  /** Settles when a large answer is encoded. */
  #encoding: Promise<void> | undefined;
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
    return this.#options.backends.maxObjectBytes;
  }

  /** Records the first event. Resolves to false when that failed and the request should not proceed. */
  async receive(): Promise<boolean> {
    this.#write('RequestReceived', this.#options.start.receivedMs);
    return this.#recorded ?? true;
  }

  /** Settles when the answer may be sent, because its events so far are recorded or lost. Undefined = at once. */
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
  *request(object: KubernetesObject): SlicedWork<void> {
    const { name = '', namespace = '', uid = '', resourceVersion = '' } = object.metadata ?? {};
    const known = this.#objectRef ?? {};
    this.#objectRef = {
      ...known,
      name: known.name || name,
      namespace: known.namespace || namespace,
      uid: known.uid || uid,
      resourceVersion: known.resourceVersion || String(resourceVersion),
    };
    if (this.keepsRequest) this.#requestObject = yield* recordInSlices(object, this.#managedFields);
  }

  /** Records a body that is not an object: a patch or options. */
  *requestBody(value: unknown): SlicedWork<void> {
    if (this.keepsRequest && value !== undefined) this.#requestObject = yield* recordInSlices(value, 'kept');
  }

  /** Records the answer. A Status is recorded in part at every level. */
  respond(value: unknown): void {
    const { kind, apiVersion } = value as Partial<KubernetesObject>;
    if (kind === undefined || apiVersion === undefined) return;
    if (kind === 'Status') this.#responseStatus = statusMembers(value as Status);
    if (this.keepsResponse) this.#response = recordInSlices(value, this.#managedFields);
  }

  /** Records an answer given as JSON bytes that are not a Status. */
  respondJson(bytes: Uint8Array): void {
    if (!this.keepsResponse) return;
    if (bytes.length > this.maxObjectBytes) this.truncate();
    else this.#response = recordJsonInSlices(bytes, this.#managedFields);
  }

  /**
   * Records that the answer is too large to be recorded; the event then has no object. Source:
   * plugin/pkg/audit/truncate.
   */
  truncate(): void {
    this.#response = undefined;
    this.#requestObject = undefined;
    this.#responseObject = undefined;
    this.annotate(truncatedAnnotation, 'true');
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
    const { decision, start, backends } = this.#options;
    if (decision.omitStages.has(stage)) return;
    const event = {
      ...start,
      level: decision.level,
      stage,
      stageMs,
      objectRef: this.#objectRef,
      impersonatedUser: this.#impersonated?.user,
      impersonationConstraint: this.#impersonated?.constraint,
      responseStatus: this.#responseStatus,
      annotations: this.#annotations,
    };
    const send = (): Promise<boolean> =>
      backends.write({ ...event, requestObject: this.#requestObject, responseObject: this.#responseObject });
    const encoding = this.#encodeResponse();
    const sent = encoding === undefined ? send() : encoding.then(send);
    const settled = (isTaken: boolean): boolean => {
      if (this.#recorded === recorded) this.#recorded = undefined;
      return isTaken;
    };
    const recorded: Promise<boolean> = sent.then(settled, (error: unknown) => {
      backends.reportLoss(error);
      return settled(false);
    });
    this.#recorded = recorded;
  }

  /** Encodes the answer if that is still to be done. Returns a promise when it takes several turns. */
  #encodeResponse(): Promise<void> | undefined {
    const response = this.#response;
    this.#response = undefined;
    const encoded = response === undefined ? undefined : runInTurns(response);
    if (encoded instanceof Promise) this.#encoding = encoded.then((object) => this.#keepResponse(object));
    else if (encoded !== undefined) this.#keepResponse(encoded);
    return this.#encoding;
  }

  #keepResponse(object: RecordedObject): void {
    if (Buffer.byteLength(object) > this.maxObjectBytes) this.truncate();
    else this.#responseObject = object;
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
