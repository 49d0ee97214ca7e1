// RuntimeClass gives a pod the overhead and the scheduling of the class that it names, and refuses any other overhead.
// Source: plugin/pkg/admission/runtimeclass.

import { type DeepReadonly, deepCopy, StatusError } from '@kapstan/api';
import { copyInSlices, type GroupVersionResource, getOwn, setOwn } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { hasSentEmpty, isAbout, nameIsPathSegment, refuse } from '@kapstan/apiserver/internal';
import type { Pod, PodSpec, Toleration } from '@kapstan/kinds/core/v1';
import type { RuntimeClass } from '@kapstan/kinds/node.k8s.io/v1';
import { runInTurns } from '@kapstan/storage';
import { amount } from '../validation/resource-rules.ts';
import { mergeTolerations } from './toleration-merge.ts';

const classes: GroupVersionResource = { group: 'node.k8s.io', version: 'v1', resource: 'runtimeclasses' };
const wrongOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const unfoundedOverhead = 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';

type Class = DeepReadonly<RuntimeClass>;
type Overhead = DeepReadonly<NonNullable<PodSpec['overhead']>>;

export function runtimeClass(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'RuntimeClass',
    admit: async (attributes) => {
      const spec = newPodSpec(attributes);
      const found = spec === undefined ? undefined : await classOf(reader, attributes, spec);
      if (spec === undefined || found === undefined) return;
      setOverhead(attributes, spec, found);
      await setScheduling(attributes, spec, found);
    },
    validatedResources: ['pods'],
    validate: async (attributes) => {
      const spec = newPodSpec(attributes);
      if (spec === undefined) return;
      const { overhead } = (await classOf(reader, attributes, spec)) ?? {};
      if (overhead === undefined) {
        if (claimsOverhead(attributes, spec)) throw refuse(attributes, unfoundedOverhead);
      } else if (!isSameOverhead(overhead.podFixed, spec.overhead)) throw refuse(attributes, wrongOverhead);
    },
  };
}

/** An empty overhead is one too, though the stored form lacks it. */
function claimsOverhead({ object }: AdmissionAttributes, { overhead }: PodSpec): boolean {
  return overhead !== undefined || (object !== undefined && hasSentEmpty(object, ['spec', 'overhead']));
}

function newPodSpec(attributes: AdmissionAttributes): PodSpec | undefined {
  if (!isAbout(attributes, '', 'pods') || attributes.operation !== 'CREATE') return undefined;
  return (attributes.object as Pod | undefined)?.spec;
}

async function classOf(
  reader: ObjectReader,
  attributes: AdmissionAttributes,
  { runtimeClassName: name }: PodSpec,
): Promise<Class | undefined> {
  if (name === undefined) return undefined;
  requireName(name);
  const target = { namespace: '', name };
  // The cache may not have the class yet.
  const found = (await reader.get(classes, target, 'cached')) ?? (await reader.get(classes, target, 'live'));
  if (found !== undefined) return found as Class;
  throw refuse(attributes, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
}

/** Kubernetes' client refuses a name that no object can have, which shows as an internal error. */
function requireName(name: string): void {
  const errors = nameIsPathSegment(name, false);
  if (name !== '' && errors.length === 0) return;
  const message =
    name === ''
      ? 'resource name may not be empty'
      : `invalid resource name ${JSON.stringify(name)}: [${errors.join(' ')}]`;
  throw new StatusError({ code: 500, reason: '', message });
}

function setOverhead(attributes: AdmissionAttributes, spec: PodSpec, { overhead }: Class): void {
  if (overhead === undefined) return;
  const isClaimed = Object.keys(spec.overhead ?? {}).length > 0;
  if (isClaimed && !isSameOverhead(overhead.podFixed, spec.overhead)) throw refuse(attributes, wrongOverhead);
  if (overhead.podFixed === undefined) delete spec.overhead;
  else spec.overhead = deepCopy(overhead.podFixed) as NonNullable<PodSpec['overhead']>;
}

async function setScheduling(attributes: AdmissionAttributes, spec: PodSpec, { scheduling }: Class): Promise<void> {
  if (scheduling === undefined) return;
  const selector = { ...spec.nodeSelector };
  for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
    const chosen = getOwn(selector, key);
    if (chosen !== undefined && chosen !== value) {
      const places = `runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${chosen}`;
      throw refuse(attributes, `conflict: ${places}`);
    }
    setOwn(selector, key, value);
  }
  if (Object.keys(selector).length > 0) spec.nodeSelector = selector;
  const tolerations = await runInTurns(mergeTolerations(spec.tolerations ?? [], scheduling.tolerations ?? []));
  if (tolerations.length > 0) spec.tolerations = (await runInTurns(copyInSlices(tolerations))) as Toleration[];
}

/** Compares amounts however they are written. */
function isSameOverhead(a: Overhead = {}, b: Overhead = {}): boolean {
  const amounts = Object.entries(a);
  const others = new Map(Object.entries(b));
  if (amounts.length !== others.size) return false;
  return amounts.every(([name, value]) => {
    const other = amount(others.get(name) ?? '');
    return other !== undefined && amount(value)?.compare(other) === 0;
  });
}
