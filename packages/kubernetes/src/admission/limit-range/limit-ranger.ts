// LimitRanger gives containers the default amounts of their namespace's limit ranges, and refuses pods and claims outside
// of their bounds. Source: plugin/pkg/admission/limitranger.

import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { aggregateTexts } from '@kapstan/api/errors';
import { eachInSlices, type GroupVersionResource, type SlicedWork } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { refuse } from '@kapstan/apiserver/internal';
import type { Container, LimitRange, PersistentVolumeClaim, Pod, PodSpec } from '@kapstan/kinds/core/v1';
import { runInTurns, type Stored } from '@kapstan/storage';
import { totalsInSlices } from '../../core/pods/container-totals.ts';
import { addFaults, amountsOf, type LimitRules, limitRules, maxFaults } from './limit-rules.ts';

const limitRanges: GroupVersionResource = { group: '', version: 'v1', resource: 'limitranges' };
const annotation = 'kubernetes.io/limit-ranger';
/** Number of containers that are compared between two looks at the clock. */
const containersPerSlice = 100;
/** Maximum number of amounts that limit ranges set in one pod. */
const maxDefaults = 100_000;
/** Maximum number of amounts in a pod that is compared with limit ranges. */
const maxAmounts = 20_000;
const tooMany = `a pod in a namespace with limit ranges may name ${maxAmounts} amounts at most`;
/** Number of amounts that are set between two looks at the clock. */
const amountsPerSlice = 2_000;
/** Resources for which a pod as a whole may have amounts. */
const podLevelResources = ['cpu', 'memory'] as const;

/** A limit range may change at any time, so every request reads the rules of the present ones. */
export class LimitRanger implements AdmissionPlugin {
  readonly name = 'LimitRanger';
  readonly validatedResources: readonly string[] = ['pods', 'persistentvolumeclaims'];
  readonly #reader: ObjectReader;
  readonly #rules = new WeakMap<Stored<UnstructuredObject>, LimitRules>();

  constructor(reader: ObjectReader) {
    this.#reader = reader;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const spec = isMeasured(attributes) && isPod(attributes) ? (attributes.object as Pod).spec : undefined;
    if (spec === undefined) return;
    const { signal } = attributes.context;
    let count = 0;
    for (const { defaults } of await this.#rulesFor(attributes)) {
      count += defaultsOf(spec, defaults);
      if (count > maxDefaults) throw refuse(attributes, `limit ranges would set more than ${maxDefaults} amounts`);
      const set = await runInTurns(setDefaults(spec, defaults), signal);
      if (set.length > 0) annotate(attributes, `LimitRanger plugin set: ${set.join('; ')}`);
    }
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (!isMeasured(attributes)) return;
    const all = await this.#rulesFor(attributes);
    if (all.length > 0 && isPod(attributes)) requireFewAmounts(attributes);
    for (const rules of all) {
      const work = isPod(attributes)
        ? podFaults(rules, (attributes.object as Pod).spec ?? { containers: [] })
        : claimFaults(rules, attributes.object as PersistentVolumeClaim);
      const faults = await runInTurns(work, attributes.context.signal);
      if (faults.length > 0) throw refuse(attributes, aggregateTexts(faults));
    }
  }

  async #rulesFor({ namespace }: AdmissionAttributes): Promise<LimitRules[]> {
    const rules: LimitRules[] = [];
    for (const stored of await this.#reader.listIn(limitRanges, namespace)) {
      let own = this.#rules.get(stored);
      if (own === undefined) {
        own = await runInTurns(limitRules(stored.view((object) => object as DeepReadonly<LimitRange>)));
        this.#rules.set(stored, own);
      }
      rules.push(own);
    }
    return rules;
  }
}

/** Returns the number of amounts that the defaults may set: each container gets each of them. */
function defaultsOf(
  { containers = [], initContainers = [] }: PodSpec,
  { limits, requests }: LimitRules['defaults'],
): number {
  return (containers.length + initContainers.length) * (limits.size + requests.size);
}

/** Amounts are read in one turn, so a pod in a namespace with limit ranges may name only this many. */
function requireFewAmounts(attributes: AdmissionAttributes): void {
  const { containers = [], initContainers = [], resources } = (attributes.object as Pod).spec ?? { containers: [] };
  let named = 0;
  for (const { limits, requests } of [...containers, ...initContainers, { resources }].flatMap(
    (each) => each.resources ?? [],
  )) {
    // Counting stops early, because listing all names would take as long as the work that it prevents.
    for (const list of [limits, requests])
      for (const _name in list) if (++named > maxAmounts) throw refuse(attributes, tooMany);
  }
}

function isPod({ kind }: AdmissionAttributes): boolean {
  return kind.group === '' && kind.kind === 'Pod';
}

/** The amounts of a pod change through its subresource `resize` alone. */
function isMeasured(attributes: AdmissionAttributes): boolean {
  const { subresource, operation, kind, object, oldObject } = attributes;
  if (object === undefined || oldObject?.metadata?.deletionTimestamp !== undefined) return false;
  if (subresource !== '') return subresource === 'resize' && isPod(attributes) && operation === 'UPDATE';
  if (isPod(attributes)) return operation === 'CREATE';
  return kind.group === '' && kind.kind === 'PersistentVolumeClaim';
}

/** Returns the defaults that it set, for people: "cpu request for container a". */
function* setDefaults(spec: PodSpec, defaults: LimitRules['defaults']): SlicedWork<string[]> {
  const told: string[] = [];
  if (defaults.limits.size === 0 && defaults.requests.size === 0) return told;
  const fill = (container: Container, what: string): void => {
    for (const list of ['requests', 'limits'] as const) {
      const set = fillList(container, list, defaults[list]);
      const noun = list === 'requests' ? 'request' : 'limit';
      if (set.length > 0) told.push(`${set.join(', ')} ${noun} for ${what} ${container.name}`);
    }
  };
  const perSlice = Math.max(1, Math.floor(amountsPerSlice / (defaults.limits.size + defaults.requests.size)));
  yield* eachInSlices(spec.containers ?? [], (each) => fill(each, 'container'), perSlice);
  yield* eachInSlices(spec.initContainers ?? [], (each) => fill(each, 'init container'), perSlice);
  return told;
}

function fillList(container: Container, list: 'limits' | 'requests', defaults: ReadonlyMap<string, string>): string[] {
  const present = container.resources?.[list] ?? {};
  const missing = [...defaults].filter(([resource]) => !Object.hasOwn(present, resource));
  if (missing.length === 0) return [];
  container.resources = { ...container.resources, [list]: { ...present, ...Object.fromEntries(missing) } };
  return missing.map(([resource]) => resource).sort();
}

function annotate({ object }: AdmissionAttributes, text: string): void {
  if (object === undefined) return;
  object.metadata = { ...object.metadata, annotations: { ...object.metadata?.annotations, [annotation]: text } };
}

function* podFaults(rules: LimitRules, spec: DeepReadonly<PodSpec>): SlicedWork<string[]> {
  const faults: string[] = [];
  if (rules.rules.has('Container')) {
    for (const [at, { resources }] of [...(spec.containers ?? []), ...(spec.initContainers ?? [])].entries()) {
      if (faults.length >= maxFaults) return faults;
      const asked = { requests: amountsOf(resources?.requests), limits: amountsOf(resources?.limits) };
      yield* addFaults(rules, { type: 'Container', ...asked }, faults);
      if (at % containersPerSlice === containersPerSlice - 1) yield;
    }
  }
  if (!rules.rules.has('Pod')) return faults;
  const asked = { requests: yield* podTotals(spec, 'requests'), limits: yield* podTotals(spec, 'limits') };
  yield* addFaults(rules, { type: 'Pod', ...asked }, faults);
  return faults;
}

/** The amounts of the pod as a whole replace those of its containers. */
function* podTotals(
  spec: DeepReadonly<PodSpec>,
  list: 'limits' | 'requests',
): SlicedWork<ReturnType<typeof amountsOf>> {
  const totals = new Map(yield* totalsInSlices(spec, list));
  const whole = amountsOf(spec.resources?.[list]);
  for (const resource of podLevelResources) {
    const own = whole.get(resource);
    if (own !== undefined) totals.set(resource, own);
  }
  return totals;
}

function* claimFaults(rules: LimitRules, { spec }: DeepReadonly<PersistentVolumeClaim>): SlicedWork<string[]> {
  const faults: string[] = [];
  const requests = amountsOf(spec?.resources?.requests);
  yield* addFaults(rules, { type: 'PersistentVolumeClaim', requests, limits: new Map() }, faults);
  return faults;
}
