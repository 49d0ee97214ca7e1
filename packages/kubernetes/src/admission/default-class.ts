// DefaultStorageClass and DefaultIngressClass give the class marked as default to claims and ingresses that name none.
// Source: plugin/pkg/admission/storage/storageclass/setdefault, plugin/pkg/admission/network/defaultingressclass.

import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import type { GroupVersionResource } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { isAbout } from '@kapstan/apiserver/internal';

interface ClassRule {
  readonly name: string;
  /** The resource that gets a class. */
  readonly group: string;
  readonly resource: string;
  /** Member of its spec that holds the name of the class. */
  readonly field: string;
  /** Older annotation with the name of a class. */
  readonly oldAnnotation: string;
  readonly classes: GroupVersionResource;
  /** Annotations that mark the default. */
  readonly defaultAnnotations: readonly string[];
}

const storageRule: ClassRule = {
  name: 'DefaultStorageClass',
  group: '',
  resource: 'persistentvolumeclaims',
  field: 'storageClassName',
  oldAnnotation: 'volume.beta.kubernetes.io/storage-class',
  classes: { group: 'storage.k8s.io', version: 'v1', resource: 'storageclasses' },
  defaultAnnotations: [
    'storageclass.kubernetes.io/is-default-class',
    'storageclass.beta.kubernetes.io/is-default-class',
  ],
};

const ingressRule: ClassRule = {
  name: 'DefaultIngressClass',
  group: 'networking.k8s.io',
  resource: 'ingresses',
  field: 'ingressClassName',
  oldAnnotation: 'kubernetes.io/ingress.class',
  classes: { group: 'networking.k8s.io', version: 'v1', resource: 'ingressclasses' },
  defaultAnnotations: ['ingressclass.kubernetes.io/is-default-class'],
};

export const defaultStorageClass = (reader: ObjectReader): AdmissionPlugin => pluginFor(storageRule, reader);
export const defaultIngressClass = (reader: ObjectReader): AdmissionPlugin => pluginFor(ingressRule, reader);

function pluginFor(rule: ClassRule, reader: ObjectReader): AdmissionPlugin {
  return { name: rule.name, admit: (attributes) => admit(rule, reader, attributes) };
}

async function admit(rule: ClassRule, reader: ObjectReader, attributes: AdmissionAttributes): Promise<void> {
  const { object, operation } = attributes;
  if (!isAbout(attributes, rule.group, rule.resource) || operation !== 'CREATE' || object === undefined) return;
  const fields = object as { spec?: Record<string, unknown> };
  if (fields.spec?.[rule.field] !== undefined) return;
  if (object.metadata?.annotations?.[rule.oldAnnotation] !== undefined) return;
  const found = newest((await reader.list(rule.classes)).filter((candidate) => isDefault(rule, candidate)));
  if (found?.metadata?.name !== undefined) fields.spec = { ...fields.spec, [rule.field]: found.metadata.name };
}

function isDefault(rule: ClassRule, candidate: DeepReadonly<UnstructuredObject>): boolean {
  const annotations = candidate.metadata?.annotations ?? {};
  return rule.defaultAnnotations.some((annotation) => annotations[annotation] === 'true');
}

/** Returns the newest of several defaults; if equally old, the first by name. */
function newest(classes: readonly DeepReadonly<UnstructuredObject>[]): DeepReadonly<UnstructuredObject> | undefined {
  const age = (candidate: DeepReadonly<UnstructuredObject>): string => candidate.metadata?.creationTimestamp ?? '';
  const name = (candidate: DeepReadonly<UnstructuredObject>): string => candidate.metadata?.name ?? '';
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return [...classes].sort((a, b) => order(age(b), age(a)) || order(name(a), name(b)))[0];
}
