// Priority sets a pod's priority from the class that it names, or from the default class, and allows one default class
// only. Source: plugin/pkg/admission/priority.

import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { GroupVersionResource } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { isAbout, refuse } from '@kapstan/apiserver/internal';
import { type PodSpec, podSpecOf } from './pod-fields.ts';

const priorityClasses: GroupVersionResource = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  resource: 'priorityclasses',
};

interface PriorityClass extends KubernetesObject {
  value?: number;
  globalDefault?: boolean;
  preemptionPolicy?: string;
}

const systemClasses: readonly string[] = ['system-node-critical', 'system-cluster-critical'];

/**
 * A deleteCollection names no class, so it is not checked. Source: registry/scheduling/priorityclass/storage
 * REST.Delete.
 */
function refuseSystemClass(attributes: AdmissionAttributes): void {
  if (!systemClasses.includes(attributes.name)) return;
  throw refuse(attributes, 'this is a system priority class and cannot be deleted');
}

export class Priority implements AdmissionPlugin {
  readonly name = 'Priority';
  readonly validatedResources: readonly string[] = ['priorityclasses.scheduling.k8s.io'];
  readonly #reader: ObjectReader;

  constructor(reader: ObjectReader) {
    this.#reader = reader;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { object, oldObject, operation } = attributes;
    if (!isAbout(attributes, '', 'pods') || object === undefined) return;
    const spec = podSpecOf(object);
    if (operation === 'CREATE') await this.#resolve(attributes, spec);
    else if (operation === 'UPDATE') keep(spec, (oldObject as { readonly spec?: DeepReadonly<PodSpec> }).spec ?? {});
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { object, operation } = attributes;
    if (!isAbout(attributes, priorityClasses.group, priorityClasses.resource)) return;
    if (operation === 'DELETE') return refuseSystemClass(attributes);
    if ((object as PriorityClass | undefined)?.globalDefault !== true) return;
    const present = await this.#default();
    if (present === undefined || (operation === 'UPDATE' && present.metadata?.name === object?.metadata?.name)) return;
    const name = present.metadata?.name;
    throw refuse(attributes, `PriorityClass ${name} is already marked as default. Only one default can exist`);
  }

  async #resolve(attributes: AdmissionAttributes, spec: PodSpec): Promise<void> {
    const found = await this.#classOf(attributes, spec);
    const { value = 0, preemptionPolicy } = found ?? { preemptionPolicy: 'PreemptLowerPriority' };
    if (found?.metadata?.name !== undefined) spec.priorityClassName = found.metadata.name;
    if (spec.priority !== undefined && spec.priority !== value) {
      const why = `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
      throw refuse(attributes, why);
    }
    spec.priority = value;
    if (preemptionPolicy === undefined) return;
    if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
      const why = `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`;
      throw refuse(attributes, why);
    }
    spec.preemptionPolicy = preemptionPolicy;
  }

  /** Returns the named class, or the default one; undefined when the pod names none and there is no default. */
  async #classOf(
    attributes: AdmissionAttributes,
    { priorityClassName = '' }: PodSpec,
  ): Promise<DeepReadonly<PriorityClass> | undefined> {
    if (priorityClassName === '') return this.#default();
    const target = { namespace: '', name: priorityClassName };
    const found =
      (await this.#reader.get(priorityClasses, target, 'cached')) ??
      (await this.#reader.get(priorityClasses, target, 'live'));
    if (found === undefined) throw refuse(attributes, `no PriorityClass with name ${priorityClassName} was found`);
    return found as DeepReadonly<PriorityClass>;
  }

  /** If a race has left several defaults, the one with the lowest value counts. */
  async #default(): Promise<DeepReadonly<PriorityClass> | undefined> {
    const classes = (await this.#reader.list(priorityClasses)) as readonly DeepReadonly<PriorityClass>[];
    const defaults = classes.filter((candidate) => candidate.globalDefault === true);
    return defaults.sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
  }
}

/** An update does not change values that the creation set and that it omits. */
function keep(spec: PodSpec, old: DeepReadonly<PodSpec>): void {
  if (spec.priority === undefined && old.priority !== undefined) spec.priority = old.priority;
  if (spec.preemptionPolicy === undefined && old.preemptionPolicy !== undefined) {
    spec.preemptionPolicy = old.preemptionPolicy;
  }
}
