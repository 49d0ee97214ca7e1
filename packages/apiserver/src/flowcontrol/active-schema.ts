// ActiveSchema is a flow schema of the acting configuration with its level, and ClassifiedRequest a request that matched it. Made by
// flow-control.ts.
import type { UserInfo } from '../registry/definition/request-context.ts';
import { type AskedRequest, FlowRequest } from './fair-queue.ts';
import type { FlowCounts } from './flow-counts.ts';
import type { FlowSchema, FlowTarget, PriorityLevelConfig } from './flow-schema.ts';
import type { PriorityLevel } from './priority-level.ts';
import { dealHand, hashFlow } from './shuffle-sharding.ts';

/** Number of hands kept per schema, because dealing one takes some microseconds. */
const maxHands = 4096;
const noHand: readonly number[] = [];
const onlyQueue: readonly number[] = [0];

export class ActiveSchema {
  readonly schema: FlowSchema;
  readonly level: PriorityLevel;
  readonly counts: FlowCounts;
  /** Hands that were dealt, by flow distinguisher. */
  readonly #hands = new Map<string, readonly number[]>();
  #dealtFor: PriorityLevelConfig['queuing'] = 'none';

  constructor(schema: FlowSchema, level: PriorityLevel, counts: FlowCounts) {
    this.schema = schema;
    this.level = level;
    this.counts = counts;
  }

  /** Returns the distinguisher of the request's flow within the schema; "" where the level does not use it. */
  distinguisherOf(user: UserInfo, target: FlowTarget): string {
    const { queuing } = this.level.config;
    if (typeof queuing === 'string' || queuing.queues === 1) return '';
    const { distinguisher } = this.schema;
    if (distinguisher === 'user') return user.name;
    return distinguisher === 'namespace' && target.type === 'resource' ? target.namespace : '';
  }

  /** Returns the queues that a flow may wait in. */
  handOf(distinguisher: string): readonly number[] {
    const { queuing } = this.level.config;
    if (typeof queuing === 'string') return noHand;
    if (queuing.queues === 1) return onlyQueue;
    if (queuing !== this.#dealtFor || this.#hands.size >= maxHands) this.#hands.clear();
    this.#dealtFor = queuing;
    const known = this.#hands.get(distinguisher);
    if (known !== undefined) return known;
    const hand = dealHand(queuing.queues, queuing.handSize, hashFlow(this.schema.name, distinguisher));
    this.#hands.set(distinguisher, hand);
    return hand;
  }
}

export class ClassifiedRequest extends FlowRequest {
  readonly active: ActiveSchema;
  /** Called once when a request that had to wait may run. */
  onAdmitted: (() => void) | undefined = undefined;

  constructor(active: ActiveSchema, asked: AskedRequest, arrivedMs: number) {
    super(active.counts, asked, arrivedMs);
    this.active = active;
  }

  get isWatch(): boolean {
    return this.target.type === 'resource' && this.target.verb === 'watch';
  }

  get isMutating(): boolean {
    return !readVerbs.has(this.target.verb);
  }
}

/** Source: filters nonMutatingRequestVerbs. */
const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
