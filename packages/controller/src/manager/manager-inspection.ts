// ManagerInspection makes the documents of a manager: informers, queues, keys with their runs, own writes, election. Every part is cut to
// its first entries, so the cost does not depend on the number of objects. Loaded by manager-servers.ts when the inspector is on.

import type { Clock } from '@kapstan/api';
import { type ErrorText, isSecret } from '@kapstan/api/internal';
import {
  type ElectionSection,
  type FailingKey,
  type InformerSection,
  type Inspection,
  InspectionError,
  inspectorApiVersion,
  type KeyDocument,
  type KeyList,
  type KeyState,
  type KeySummary,
  numberOf,
  type QueueSection,
  type RunItem,
  type Sections,
  type Some,
  someOf,
  type UnseenWriteItem,
} from '@kapstan/inspector';
import type { CachedInformer, InformerCache } from '../cache/informer-cache.ts';
import type { OwnWrites } from '../cache/own-writes.ts';
import { kindText } from '../inspector/kind-text.ts';
import type { KeyHistory, Run } from '../inspector/run-history.ts';
import type { LeaderElector } from '../leader-election/leader-elector.ts';
import type { ControllerMetrics, QueueAges } from '../metrics/controller-metrics.ts';
import type { InspectedController } from '../runner/controller-runner.ts';
import { ObjectSizes } from './object-sizes.ts';

const limit = 10;
const maxInformers = 200;
const maxControllers = 50;
const keysOfPage = 50;
const noCauses = { items: [], more: 0 } as const;

export interface ManagerInspectionOptions {
  /** Returns the controllers that exist now. */
  readonly controllers: () => readonly InspectedController[];
  readonly cache: InformerCache;
  readonly ownWrites: OwnWrites;
  readonly metrics: ControllerMetrics;
  readonly elector: LeaderElector | undefined;
  readonly lease: string;
  readonly clock: Clock;
  /** Describes the error of an informer. */
  readonly errorText: ErrorText;
}

export class ManagerInspection implements Inspection {
  readonly subject = 'manager';
  readonly name: string;
  readonly documents: Inspection['documents'] = {
    keys: (query) => this.#keys(query),
    key: (query) => this.#key(query),
  };
  readonly #options: ManagerInspectionOptions;
  readonly #sizes: ObjectSizes;
  /** Offset from monotonic times to wall clock times, as measured at the start. */
  readonly #epochMs: number;

  constructor(options: ManagerInspectionOptions) {
    const { controllers, clock } = options;
    this.#options = options;
    this.#sizes = new ObjectSizes(clock);
    this.#epochMs = clock.now() - clock.monotonicNow();
    this.name = controllers()
      .slice(0, limit)
      .map(({ controller }) => controller.name)
      .join(', ');
  }

  sections(): Sections {
    const controllers = this.#options.controllers();
    return {
      queues: someOf(this.#queues(), { limit: maxControllers, total: controllers.length }),
      informers: this.#informers(),
      ownWrites: this.#ownWrites(),
      election: this.#election(),
    };
  }

  // ---- Sections ----

  #informers(): Some<InformerSection> {
    const all = [...this.#options.cache.all()];
    return { total: all.length, items: all.slice(0, maxInformers).map((one) => this.#informer(one)) };
  }

  #informer({ kind, informer, namespace }: CachedInformer): InformerSection {
    const { status, silentMs, lists } = informer;
    return {
      kind: kindText(kind),
      namespace,
      phase: status.phase,
      since: status.since,
      hasSynced: informer.hasSynced,
      objects: informer.indexer.size,
      estimatedBytes: this.#sizes.of(informer),
      resourceVersion: informer.lastSyncResourceVersion,
      heardAt: silentMs === undefined ? undefined : this.#wall(this.#options.clock.monotonicNow() - silentMs),
      relists: Math.max(0, lists - 1),
      handlerErrors: informer.handlerErrors,
      lastError: status.error === undefined ? undefined : this.#options.errorText(status.error),
    };
  }

  *#queues(): Generator<QueueSection, void, undefined> {
    for (const { controller, queue, history } of this.#options.controllers()) {
      const { name, resource, settings } = controller;
      const { addedAtMs, startedAtMs } = this.#agesOf(name);
      const shown = isSecret(resource) ? 0 : limit;
      yield {
        controller: name,
        kind: kindText(resource),
        workers: settings.workers ?? 1,
        hidesKeys: isSecret(resource),
        ...history.counts,
        // A key that is added while a worker handles it has an age too, but is not waiting yet: the queue's length leaves it out.
        waiting: someOf(this.#since(addedAtMs), { limit: Math.min(shown, queue.length), total: queue.length }),
        running: someOf(this.#since(startedAtMs), { limit: shown, total: queue.processing }),
        delayed: {
          total: queue.delayed,
          items: queue.nextDelayed(shown).map(({ key, dueAtMs }) => ({ key, dueAt: this.#wall(dueAtMs) })),
        },
        failing: someOf(this.#failing(history.failing, queue), { limit: shown, total: history.failing.size }),
      };
    }
  }

  *#since(
    ages: ReadonlyMap<string, number>,
  ): Generator<{ readonly key: string; readonly since: number }, void, undefined> {
    for (const [key, atMs] of ages) yield { key, since: this.#wall(atMs) };
  }

  *#failing(
    failing: ReadonlyMap<string, KeyHistory>,
    queue: InspectedController['queue'],
  ): Generator<FailingKey, void, undefined> {
    for (const [key, { failures, failingSince, runs }] of failing) {
      const error = runs.findLast((run) => run.error !== undefined)?.error ?? '';
      yield { key, since: failingSince, failures, error, dueAt: this.#wallOf(queue.dueAtMs(key)) };
    }
  }

  #ownWrites(): Some<UnseenWriteItem> {
    const items: UnseenWriteItem[] = [];
    let total = 0;
    for (const { writer, kind, key, resourceVersion, writtenAtMs } of this.#options.ownWrites.unseen()) {
      total++;
      if (items.length === limit) continue;
      const name = isSecret(kind) ? '' : key;
      items.push({
        writer: this.#shownWriter(writer),
        kind: kindText(kind),
        name,
        resourceVersion,
        since: this.#wall(writtenAtMs),
      });
    }
    return { total, items };
  }

  /** A writer is a controller and a key, which may be the name of a Secret. */
  #shownWriter(writer: string): string {
    const [name = ''] = writer.split(' ', 1);
    const one = this.#options.controllers().find(({ controller }) => controller.name === name);
    return one === undefined || isSecret(one.controller.resource) ? name : writer;
  }

  #election(): ElectionSection | undefined {
    const { elector, lease, clock } = this.#options;
    if (elector === undefined) return undefined;
    const { identity, isLeader, leader, renewedMsAgo } = elector;
    const renewedAt = renewedMsAgo === undefined ? undefined : this.#wall(clock.monotonicNow() - renewedMsAgo);
    return { lease, identity, leader, isLeader, renewedAt };
  }

  // ---- Keys ----

  #keys(query: URLSearchParams): KeyList {
    const inspected = this.#controllerOf(query);
    const { controller, history } = inspected;
    const count = numberOf(query, 'limit', { min: 1, max: 500, otherwise: keysOfPage });
    const [after, search, state] = ['continue', 'search', 'state'].map((name) => query.get(name) ?? '');
    if (!['', 'failing', 'running', 'waiting', 'delayed', 'idle'].includes(state ?? ''))
      throw new InspectionError(400, 'state must be failing, running, waiting, delayed or idle');
    const source = state === 'failing' ? history.failing : history.keys;
    const found: string[] = [];
    for (const key of source.keys()) {
      if (search !== '' && !key.includes(search ?? '')) continue;
      if (state === '' || state === 'failing' || this.#stateOf(inspected, key) === state) found.push(key);
    }
    const total = found.length;
    const rest = found.filter((key) => key > (after ?? '')).sort();
    const items = rest.slice(0, count).map((key) => this.#summary(inspected, key));
    const next = rest.length > count ? items.at(-1)?.key : undefined;
    return {
      apiVersion: inspectorApiVersion,
      kind: 'KeyList',
      controller: controller.name,
      total,
      items,
      continue: next,
    };
  }

  #summary(inspected: InspectedController, key: string): KeySummary {
    const history = inspected.history.keys.get(key);
    const run = history?.runs.at(-1);
    return {
      key,
      state: this.#stateOf(inspected, key),
      failures: history?.failures ?? 0,
      lastRun: run && { startedAt: run.startedAt, durationMs: run.durationMs, result: run.result },
    };
  }

  #key(query: URLSearchParams): KeyDocument {
    const inspected = this.#controllerOf(query);
    const { controller, history, queue } = inspected;
    const key = query.get('key') ?? '';
    const known = history.keys.get(key);
    const { addedAtMs, startedAtMs } = this.#agesOf(controller.name);
    const since = startedAtMs.get(key) ?? addedAtMs.get(key);
    const dueAt = this.#wallOf(queue.dueAtMs(key));
    if (known === undefined && since === undefined && dueAt === undefined)
      throw new InspectionError(404, 'this controller has not worked on such a key lately');
    return {
      apiVersion: inspectorApiVersion,
      kind: 'Key',
      controller: controller.name,
      key,
      state: this.#stateOf(inspected, key),
      since: this.#wallOf(since),
      dueAt,
      failures: known?.failures ?? 0,
      pending: history.pendingOf(key) ?? noCauses,
      runs: (known?.runs ?? []).map(runItem).reverse(),
    };
  }

  #stateOf({ controller, queue }: InspectedController, key: string): KeyState {
    const { addedAtMs, startedAtMs } = this.#agesOf(controller.name);
    if (startedAtMs.has(key)) return 'running';
    if (addedAtMs.has(key)) return 'waiting';
    return queue.dueAtMs(key) === undefined ? 'idle' : 'delayed';
  }

  #controllerOf(query: URLSearchParams): InspectedController {
    const name = query.get('controller') ?? '';
    const found = this.#options.controllers().find(({ controller }) => controller.name === name);
    if (found === undefined) throw new InspectionError(404, 'there is no controller of that name: ?controller=NAME');
    if (isSecret(found.controller.resource))
      throw new InspectionError(404, 'the keys of this controller are names of Secrets, so they are not shown');
    return found;
  }

  // ---- Times ----

  #agesOf(name: string): QueueAges {
    return this.#options.metrics.queueAges(name) ?? { addedAtMs: new Map(), startedAtMs: new Map() };
  }

  #wall(monotonicMs: number): number {
    return Math.round(this.#epochMs + monotonicMs);
  }

  #wallOf(monotonicMs: number | undefined): number | undefined {
    return monotonicMs === undefined ? undefined : this.#wall(monotonicMs);
  }
}

function runItem({ startedAt, durationMs, attempt, result, error, causes, writes }: Run): RunItem {
  return { startedAt, durationMs, attempt, result, error, causes, writes };
}
