// Makes the strategies of a kind with Go types and of its /status endpoint from its facts and its TypedKind. Source:
// pkg/registry/<group>/<resource>/strategy.go, which repeat these steps in every folder.

import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { copyInSlices, getOwn, runWhole, type SlicedWork } from '@kapstan/api/internal';
import { holdsEmpties, noteEmpties, restoreEmpties } from '../../schema/go/decoded-empties.ts';
import type { EmptyKeeping } from '../../schema/node/kept-empties.ts';
import { collectFieldErrors, collectFieldErrorsInSlices, type Field } from '../meta/field.ts';
import { jsonEqual, jsonEqualInSlices } from '../meta/json-equality.ts';
import { metaOf } from '../meta/object-meta.ts';
import type { KindFacts, ResourceBehaviour } from './kind-facts.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceStrategy } from './strategy.ts';
import type { TypedKind } from './typed-kind.ts';

type Fields = Record<string, unknown>;
const statusField = ['status'] as const;
const notContent = new Set(['kind', 'apiVersion', 'metadata', 'status']);

export function typedStrategy<T extends KubernetesObject>(kind: TypedKind<T>, facts: KindFacts): ResourceStrategy<T> {
  const { behaviour } = facts;
  return {
    allowCreateOnUpdate: behaviour.createOnUpdate,
    allowUnconditionalUpdate: behaviour.updateWithoutVersion,
    ...preparationOf(kind, facts),
    ...validationOf(kind, facts),
    permit: kind.permit,
    ...warningsOf(kind),
    ...(facts.hasStatus ? { resetFields: [['status']] } : {}),
    ...(kind.validateName === undefined ? {} : { validateName: kind.validateName }),
    ...kind.strategy,
    ...storedFormOf(facts, kind.strategy?.canonicalize),
  };
}

/** Empty lists and maps stay until validation has seen them. */
function storedFormOf<T extends KubernetesObject>(
  { types, definition }: KindFacts,
  canonicalize: ((object: T) => void) | undefined,
): Pick<ResourceStrategy<T>, 'canonicalize' | 'canonicalizeInSlices'> {
  return {
    canonicalize: (object) => {
      if (holdsEmpties(object)) types.normalize(definition, object as Fields);
      canonicalize?.(object);
    },
    canonicalizeInSlices: function* (object) {
      if (holdsEmpties(object)) yield* types.normalizeInSlices(definition, object as Fields);
      canonicalize?.(object);
    },
  };
}

type Validation<T extends KubernetesObject> = Pick<
  ResourceStrategy<T>,
  'validateCreate' | 'validateCreateInSlices' | 'validateUpdate' | 'validateUpdateInSlices'
>;

function validationOf<T extends KubernetesObject>(kind: TypedKind<T>, { capabilities }: KindFacts): Validation<T> {
  const create = (object: DeepReadonly<T>) => (root: Field) => {
    kind.validateCreate?.(root, object);
    kind.validate?.(root, object, undefined);
  };
  const update = (next: DeepReadonly<T>, old: DeepReadonly<T>) => (root: Field) => {
    kind.validate?.(root, next, old);
    if (kind.repeatsValidation === true) kind.validate?.(root, next, old);
    kind.validateChange?.(root, next, old);
  };
  const isSliced = kind.validatesInSlices === true;
  return {
    validateCreate: (object) => collectFieldErrors(create(object), capabilities),
    validateUpdate: (next, old) => collectFieldErrors(update(next, old), capabilities),
    validateCreateInSlices: isSliced ? (object) => collectFieldErrorsInSlices(create(object), capabilities) : undefined,
    validateUpdateInSlices: isSliced
      ? (next, old) => collectFieldErrorsInSlices(update(next, old), capabilities)
      : undefined,
  };
}

type Preparation<T extends KubernetesObject> = Pick<
  ResourceStrategy<T>,
  'prepareForCreate' | 'prepareForCreateInSlices' | 'prepareForUpdate' | 'prepareForUpdateInSlices'
>;

function preparationOf<T extends KubernetesObject>(kind: TypedKind<T>, facts: KindFacts): Preparation<T> {
  const { types, behaviour, definition, hasStatus } = facts;
  const fill = (object: T, context: RequestContext): void => {
    if (hasStatus && kind.keepsStatusOnCreate !== true) delete (object as Fields).status;
    if (behaviour.generation) object.metadata = { ...object.metadata, generation: 1 };
    if (behaviour.finalizers !== undefined) addFinalizers(object, behaviour.finalizers);
    kind.prepareForCreate?.(object, context);
  };
  return {
    prepareForCreate: (object, context) => {
      restoreEmpties(object);
      fill(object, context);
      const keeping = allEmpties();
      types.normalize(definition, object as Fields, keeping);
      if (keeping.found) noteEmpties(object);
    },
    prepareForCreateInSlices: function* (object, context) {
      restoreEmpties(object);
      fill(object, context);
      yield;
      const keeping = allEmpties();
      yield* types.normalizeInSlices(definition, object as Fields, keeping);
      if (keeping.found) noteEmpties(object);
    },
    prepareForUpdate: (next, old, context) => {
      restoreEmpties(next);
      if (hasStatus) runWhole(takeOver(next, old, statusField));
      kind.prepareForUpdate?.(next, old, context);
      const keeping = allEmpties();
      types.normalize(definition, next as Fields, keeping);
      if (keeping.found) noteEmpties(next);
      const counted = countedPairs(kind, behaviour, { next, old });
      const isEqual = counted.every(([is, was]) => jsonEqual(is, was));
      keepGeneration(next, old, !isEqual || (kind.countsEmpties === true && holdsEmpties(next)));
    },
    prepareForUpdateInSlices: function* (next, old, context) {
      restoreEmpties(next);
      if (hasStatus) yield* takeOver(next, old, statusField);
      kind.prepareForUpdate?.(next, old, context);
      yield;
      const keeping = allEmpties();
      yield* types.normalizeInSlices(definition, next as Fields, keeping);
      if (keeping.found) noteEmpties(next);
      let isRaised = kind.countsEmpties === true && holdsEmpties(next);
      for (const [is, was] of countedPairs(kind, behaviour, { next, old }))
        isRaised ||= !(yield* jsonEqualInSlices(is, was));
      keepGeneration(next, old, isRaised);
    },
  };
}

function allEmpties(): EmptyKeeping {
  return { fields: 'all', found: false };
}

/** Returns the strategy of /status: everything except metadata and status keeps its old value. */
export function typedStatusStrategy<T extends KubernetesObject>(
  kind: TypedKind<T>,
  facts: KindFacts,
): ResourceStrategy<T> {
  return {
    ...subresourceStrategy(facts, {
      keepsContent: true,
      prepare: (next, old) => kind.status?.prepare?.(next, old),
      keepsMetadata: kind.status?.keepsMetadata ?? false,
      validate: (root, next, old) => kind.status?.validate?.(root, next, old),
    }),
    ...statusWarningsOf(kind),
    permitAlways: kind.status?.permit,
    resetFields: [
      ['spec'],
      ...(kind.status?.keepsMetadata === true ? [['metadata']] : []),
      ...(kind.status?.resetFields ?? []),
    ],
    updateMetadata: kind.status?.updateMetadata ?? 'change',
  };
}

interface SubresourceRules<T extends KubernetesObject> {
  /** True = everything except metadata and status keeps its old value. Default false. */
  readonly keepsContent?: boolean;
  /** Called after {@link keepsContent} and {@link keepsMetadata}. */
  prepare(next: T, old: DeepReadonly<T>): void;
  validate(at: Field, next: DeepReadonly<T>, old: DeepReadonly<T>): void;
  /** True = a change of the content raises the generation. Default false. */
  readonly raisesGeneration?: boolean;
  /** True = labels, annotations, finalizers and owners keep their old values. Default false. */
  readonly keepsMetadata?: boolean;
}

/** Returns a strategy that only updates, for /status, /finalize, /ephemeralcontainers. */
export function subresourceStrategy<T extends KubernetesObject>(
  facts: KindFacts,
  rules: SubresourceRules<T>,
): ResourceStrategy<T> {
  const prepare = function* (next: T, old: DeepReadonly<T>): SlicedWork<void> {
    restoreEmpties(next);
    if (rules.keepsMetadata === true) yield* takeOver(metaOf(next), old.metadata ?? {}, statusMetadata);
    if (rules.keepsContent === true) yield* takeOver(next, old, contentKeys(next, old));
    rules.prepare(next, old);
    const keeping = allEmpties();
    yield* facts.types.normalizeInSlices(facts.definition, next as Fields, keeping);
    if (keeping.found) noteEmpties(next);
    const keys = rules.raisesGeneration === true ? contentKeys(next, old) : [];
    let isRaised = false;
    for (const key of keys) isRaised ||= !(yield* jsonEqualInSlices(getOwn(next, key), getOwn(old, key)));
    keepGeneration(next, old, isRaised);
  };
  return {
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: facts.behaviour.updateWithoutVersion,
    prepareForCreate: () => undefined,
    validateCreate: () => [],
    prepareForUpdate: (next, old) => runWhole(prepare(next, old)),
    prepareForUpdateInSlices: prepare,
    validateUpdate: (next, old) => collectFieldErrors((root) => rules.validate(root, next, old), facts.capabilities),
    ...storedFormOf(facts, undefined),
  };
}

/** Source: metav1.ResetObjectMetaForStatus. Generation and deletion stay as they are in every update. */
const statusMetadata = ['labels', 'annotations', 'finalizers', 'ownerReferences'];

/** Replaces members of the new object by the members of the old one. A member that the old object lacks is removed. */
function* takeOver(next: object, old: object, keys: readonly string[]): SlicedWork<void> {
  for (const key of keys) {
    const value = getOwn(old, key);
    if (value === undefined) delete (next as Fields)[key];
    else (next as Fields)[key] = isScalar(value) ? value : yield* copyInSlices(value);
  }
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

function contentKeys(next: object, old: object): string[] {
  return [...new Set([...Object.keys(next), ...Object.keys(old)])].filter((key) => !notContent.has(key));
}

/** Returns the members whose change raises the generation, with their old values. */
function countedPairs<T extends KubernetesObject>(
  kind: TypedKind<T>,
  behaviour: ResourceBehaviour,
  { next, old }: { readonly next: T; readonly old: DeepReadonly<T> },
): (readonly [is: unknown, was: unknown])[] {
  const isCounted = kind.raisesGeneration ?? (behaviour.generation && kind.keepsGeneration !== true);
  if (!isCounted) return [];
  const metadataKeys = [
    ...(behaviour.labelsRaiseGeneration ? ['labels'] : []),
    ...(kind.annotationsRaiseGeneration ? ['annotations'] : []),
  ];
  return [
    ...contentKeys(next, old).map((key) => [getOwn(next, key), getOwn(old, key)] as const),
    ...metadataKeys.map((key) => [getOwn(next.metadata ?? {}, key), getOwn(old.metadata ?? {}, key)] as const),
  ];
}

function keepGeneration(next: KubernetesObject, old: DeepReadonly<KubernetesObject>, isRaised: boolean): void {
  const generation = old.metadata?.generation;
  const metadata = next.metadata ?? {};
  next.metadata = metadata;
  if (isRaised) metadata.generation = (generation ?? 0) + 1;
  else if (generation === undefined) delete metadata.generation;
  else metadata.generation = generation;
}

function addFinalizers(object: KubernetesObject, finalizers: readonly string[]): void {
  const present = object.metadata?.finalizers ?? [];
  const missing = finalizers.filter((finalizer) => !present.includes(finalizer));
  object.metadata = { ...object.metadata, finalizers: [...present, ...missing] };
}

function warningsOf<T extends KubernetesObject>(kind: TypedKind<T>): Partial<ResourceStrategy<T>> {
  const { warnings } = kind;
  if (warnings === undefined) return {};
  return {
    warningsOnCreate: (object) => warnings(object, undefined),
    warningsOnUpdate: (next, old) => warnings(next, old),
  };
}

function statusWarningsOf<T extends KubernetesObject>(kind: TypedKind<T>): Partial<ResourceStrategy<T>> {
  const warnings = kind.status?.warnings;
  return warnings === undefined ? {} : { warningsOnUpdate: (next) => warnings(next) };
}
