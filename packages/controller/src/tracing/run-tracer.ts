// RunTracer makes a span of each run of one controller, with its cause, wait, writes and outcome. controller-runner.ts puts it around the
// runs and under their clients. It exists only if a tracer provider is registered.
import type { Logger, Resource, ResourceClient, WriteObserver } from '@kapstan/api';
import {
  failSpan,
  findOpenTelemetry,
  HttpCallTracer,
  isSecret,
  type OpenTelemetry,
  spanKinds,
  type TraceAttributes,
  type TraceLink,
  type TraceScope,
  type TraceSpan,
  type TracingOptions,
  traceParentOf,
} from '@kapstan/api/internal';
import type { ChangedObject, WakeCause } from '@kapstan/inspector';
import type { Controller } from '../builder/controller-builder.ts';
import { kindText } from '../inspector/kind-text.ts';
import { nextWakeAfter, nextWakeOf, type Wake, type WakeCauses } from '../inspector/wake-causes.ts';
import {
  isTerminalError,
  type ReconcileRequest,
  type ReconcileResult,
  type SyncHandler,
} from '../reconcile/reconcile-loop.ts';
import { linkTo } from './trace-annotation.ts';
import { type Target, TracedClient } from './traced-client.ts';
import { WrittenSpans } from './written-spans.ts';

/** Says how runs are traced, and where their spans go. */
export interface ManagerTracing extends TracingOptions {
  /**
   * Writes the annotation `tracing.k8s.io/traceparent` on objects that a sampled run creates with `ctx.client.create`, so that controllers
   * in other processes link to it. Default false: objects are written unchanged.
   */
  readonly annotatesCreated?: boolean | undefined;
}

/** State that the tracers of a manager share. */
export interface SharedTracing {
  readonly telemetry: OpenTelemetry;
  readonly written: WrittenSpans;
  readonly annotatesCreated: boolean;
  /** True if the manager's client makes spans of the attempts of its calls. */
  readonly tracesCalls: boolean;
}

/** Returns undefined where nothing is traced: runs then cost nothing more. */
export function sharedTracing(
  tracing: ManagerTracing | undefined,
  { client, logger }: { readonly client: ResourceClient; readonly logger: Logger },
): SharedTracing | undefined {
  if (tracing === undefined) return undefined;
  const telemetry = findOpenTelemetry(tracing, '@kapstan/controller');
  if (telemetry === undefined) {
    logger.info('tracing nothing: no tracer provider is registered');
    return undefined;
  }
  const { tracesCalls = false } = client as { readonly tracesCalls?: boolean };
  const { annotatesCreated = false } = tracing;
  return { telemetry, written: new WrittenSpans(), annotatesCreated, tracesCalls };
}

interface TracedRun {
  readonly span: TraceSpan;
  readonly scope: TraceScope;
}

export class RunTracer {
  readonly #controller: Controller;
  readonly #shared: SharedTracing;
  readonly #causes: WakeCauses;
  /** Runs under way by key. */
  readonly #runs = new Map<string, TracedRun>();

  constructor(controller: Controller, shared: SharedTracing, causes: WakeCauses) {
    this.#controller = controller;
    this.#shared = shared;
    this.#causes = causes;
  }

  /** Returns the handler, with a span around each call. */
  handler(reconcile: SyncHandler): SyncHandler {
    return async (request, context) => {
      const { key } = request;
      const run = this.#begin(request, context.attempt);
      this.#runs.set(key, run);
      try {
        const result = await this.#shared.telemetry.run(run.scope, () => reconcile(request, context));
        this.#causes.willWakeBy(key, nextWakeOf(result?.requeueAfterMs));
        if (run.span.isRecording()) run.span.setAttributes(resultOf(result));
        return result;
      } catch (error) {
        this.#causes.willWakeBy(key, nextWakeAfter(error));
        run.span.setAttributes({ 'kapstan.result': 'error', 'kapstan.terminal': isTerminalError(error) });
        failSpan(run.span, error);
        throw error;
      } finally {
        this.#runs.delete(key);
        this.#shared.written.end(run.span.spanContext());
        run.span.end();
      }
    };
  }

  /** Returns the client of the run of a key, whose calls become parts of its span. */
  client(key: string, client: ResourceClient): ResourceClient {
    const run = this.#runs.get(key);
    if (run === undefined) return client;
    const { telemetry, annotatesCreated, tracesCalls } = this.#shared;
    const start = (name: string, attributes: TraceAttributes): TraceSpan =>
      telemetry.start(name, { kind: spanKinds.internal, attributes }, telemetry.activeOr(run.scope));
    const span = run.span.spanContext();
    const onWrite = (resource: Resource, target: Target): void => {
      // A write that outlives its run would be remembered forever.
      if (!isSecret(resource) && this.#runs.get(key) === run)
        this.#shared.written.begin(objectOf(resource, target), span);
    };
    return new TracedClient(client, {
      tracer: new HttpCallTracer(() => telemetry, run.scope),
      startCall: tracesCalls ? undefined : start,
      onWrite: isSampled(run.span) ? onWrite : undefined,
      annotation: annotatesCreated && isSampled(run.span) ? traceParentOf(run.span) : undefined,
    });
  }

  /** Returns the observer of the writes of a key's run, which records their span. */
  observer(key: string, observer: WriteObserver): WriteObserver {
    const run = this.#runs.get(key);
    if (run === undefined || !isSampled(run.span)) return observer;
    return {
      observeWrite: (resource, { namespace, name }, version) => {
        observer.observeWrite(resource, { namespace, name }, version);
        // The names of Secrets are not revealed.
        if (isSecret(resource)) return;
        const object = objectOf(resource, { namespace, name });
        this.#shared.written.note(object, version, run.span.spanContext());
        run.span.addEvent('wrote', objectAttributes('kapstan.object', { ...object, version }));
      },
    };
  }

  #begin(request: ReconcileRequest, attempt: number): TracedRun {
    const { telemetry } = this.#shared;
    const { name } = this.#controller;
    const wake = this.#causes.takenOf(request.key);
    const active = telemetry.active();
    // A run belongs to no span that happened to be active when the manager started.
    const options = { kind: spanKinds.internal, root: true, links: this.#linksOf(wake) };
    const span = telemetry.start(`reconcile ${name}`, options, active);
    if (span.isRecording()) this.#describe(span, { request, attempt, wake });
    return { span, scope: telemetry.within(active, span) };
  }

  #linksOf(wake: Wake | undefined): TraceLink[] {
    if (wake === undefined) return [];
    const links = new Map(wake.links.map((link) => [link.context.spanId, link]));
    for (const { object } of wake.causes.items) {
      const span = object && this.#shared.written.of(object);
      if (span !== undefined) links.set(span.spanId, linkTo(span, 'write'));
    }
    return [...links.values()];
  }

  #describe(
    span: TraceSpan,
    run: { readonly request: ReconcileRequest; readonly attempt: number; readonly wake: Wake | undefined },
  ): void {
    const { request, attempt, wake } = run;
    span.setAttributes({
      'kapstan.controller': this.#controller.name,
      'kapstan.object.kind': kindText(this.#controller.resource),
      'k8s.namespace.name': request.namespace,
      // The names of Secrets are not revealed.
      'kapstan.object.name': isSecret(this.#controller.resource) ? '' : request.name,
      'kapstan.attempt': attempt,
    });
    if (wake === undefined) return;
    const [first, ...others] = wake.causes.items;
    span.setAttributes({
      'kapstan.queue.wait_ms': wake.takenAtMs - wake.wokenAtMs,
      'kapstan.causes': wake.causes.items.length + wake.causes.more,
      ...(first && causeAttributes(first)),
    });
    for (const cause of others) span.addEvent('woken', causeAttributes(cause));
  }
}

/** Attributes describe the whole run. As is usual in OpenTelemetry, a span that ended well has no status. */
function resultOf(result: ReconcileResult | undefined): TraceAttributes {
  if (result === undefined) return { 'kapstan.result': 'success' };
  const { requeueAfterMs } = result;
  return {
    'kapstan.result': requeueAfterMs > 0 ? 'requeue_after' : 'requeue',
    'kapstan.requeue_after_ms': requeueAfterMs,
  };
}

function causeAttributes({ type, object }: WakeCause): TraceAttributes {
  if (object === undefined) return { 'kapstan.cause.type': type };
  const { kind, namespace, name, through } = object;
  const version = object.newVersion || object.oldVersion;
  return {
    'kapstan.cause.type': type,
    'kapstan.cause.through': through,
    ...objectAttributes('kapstan.cause', { kind, namespace, name, version }),
  };
}

function objectAttributes(
  prefix: string,
  { kind, namespace, name, version }: Pick<ChangedObject, 'kind' | 'namespace' | 'name'> & { readonly version: string },
): TraceAttributes {
  return {
    [`${prefix}.kind`]: kind,
    [`${prefix}.namespace`]: namespace,
    [`${prefix}.name`]: name,
    [`${prefix}.resource_version`]: version,
  };
}

function objectOf(resource: Resource, target: Target) {
  const { namespace = '', name = '' } = target ?? {};
  return { kind: kindText(resource), namespace, name };
}

const isSampled = (span: TraceSpan): boolean => (span.spanContext().traceFlags & 1) === 1;
