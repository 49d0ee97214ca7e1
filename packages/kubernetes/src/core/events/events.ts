// Events, in the core group and in events.k8s.io: one storage, two shapes. Source: pkg/registry/core/event,
// pkg/apis/core/validation/events.go, pkg/apis/events/v1/conversion.go.
import { type DeepReadonly, deepCopy, type KubernetesObject, type UnstructuredObject } from '@kapstan/api';
import { dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { ResourceStrategy } from '@kapstan/apiserver';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual, nameIsPathSegment } from '@kapstan/apiserver/internal';
import type { Event } from '@kapstan/kinds/core/v1';
import type { Event as EventsEvent } from '@kapstan/kinds/events.k8s.io/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { kubernetesTypes } from '../../builtin/kubernetes-types.ts';
import { internalForm } from '../../validation/internal-form.ts';

function strategyFor({
  eventTtlSeconds,
}: BuiltinServer): Pick<ResourceStrategy<KubernetesObject>, 'ttlSeconds' | 'defaultGarbageCollection'> {
  return { ttlSeconds: () => eventTtlSeconds, defaultGarbageCollection: 'Unsupported' };
}

export const coreEvents = (server: BuiltinServer): BuiltinKind<Event> => ({
  id: 'v1/events',
  uncachedByDefault: true,
  validateName: nameIsPathSegment,
  strategy: { ...strategyFor(server), updateMetadata: 'none', finalizerNames: 'Qualified' },
  validate: (root, event) => validateEvent(root, event, 'reportingComponent'),
  fields: (event) => ({
    type: event.type ?? '',
    reason: event.reason ?? '',
    source: event.source?.component || event.reportingComponent || '',
    reportingComponent: event.reportingComponent ?? '',
    ...referenceFields('involvedObject', event.involvedObject),
  }),
});

export const eventsEvents = (server: BuiltinServer): BuiltinKind<EventsEvent> => ({
  id: 'events.k8s.io/v1/events',
  uncachedByDefault: true,
  strategy: strategyFor(server),
  invalidKind: { group: '', kind: 'Event' },
  convert: { fromStored: fromCoreEvent, toStored: toCoreEvent },
  validate: (root, event, old) => {
    const asCore = asCoreEvent(event);
    validateEvent(root, asCore, 'reportingController');
    if (old === undefined) validateNewForm(root, event);
    else validateEventChange(root, asCore, asCoreEvent(old));
  },
  fields: (event) => ({
    type: event.type ?? '',
    reason: event.reason ?? '',
    reportingController: event.reportingController ?? '',
    ...referenceFields('regarding', event.regarding),
  }),
});

const asCoreEvent = (event: DeepReadonly<EventsEvent>): Event =>
  toCoreEvent(event as unknown as UnstructuredObject) as unknown as Event;

/** Fields that only the older form has must be unset. Source: ValidateEventCreate. */
function validateNewForm(root: Field, event: DeepReadonly<EventsEvent>): void {
  validateSeries(root, event.series);
  if (!event.eventTime) root.child('eventTime').required();
  if (event.type !== 'Normal' && event.type !== 'Warning')
    root.child('type').invalid('', `has invalid value: ${event.type ?? ''}`);
  const old = {
    firstTimestamp: event.deprecatedFirstTimestamp,
    lastTimestamp: event.deprecatedLastTimestamp,
    count: event.deprecatedCount,
  };
  for (const [name, value] of Object.entries(old)) if (value) root.child(name).invalid('', 'needs to be unset');
  if (Object.keys(event.deprecatedSource ?? {}).length > 0) root.child('source').invalid('', 'needs to be unset');
}

const minSeries = 2;

function validateSeries(root: Field, series: DeepReadonly<Event>['series']): void {
  if (series === undefined) return;
  if ((series.count ?? 0) < minSeries) root.child('series.count').invalid('', `should be at least ${minSeries}`);
  if (!series.lastObservedTime) root.child('series.lastObservedTime').required();
}

/**
 * Members that must not change, by their names in the core form; `reason` is reported twice. Source:
 * ValidateEventUpdate.
 */
const kept = [
  ['involvedObject', {}],
  ['reason', ''],
  ['message', ''],
  ['source', {}],
  ['firstTimestamp', null],
  ['lastTimestamp', null],
  ['count', 0],
  ['reason', ''],
  ['type', ''],
  ['eventTime', null],
  ['action', ''],
  ['related', null],
  ['reportingComponent', ''],
  ['reportingInstance', ''],
] as const satisfies readonly (readonly [keyof Event, unknown])[];

/** Only the series may change. Source: ValidateEventUpdate. */
function validateEventChange(root: Field, next: DeepReadonly<Event>, old: DeepReadonly<Event>): void {
  if (!jsonEqual(next.series, old.series)) validateSeries(root, next.series);
  for (const [name, absent] of kept) {
    const field = name === 'reportingComponent' ? 'reportingController' : name;
    root
      .child(field)
      .immutable(shownMember(next, name) ?? absent, jsonEqual(next[name] ?? absent, old[name] ?? absent));
  }
}

/** Returns a member as errors show it. */
function shownMember(event: DeepReadonly<Event>, name: keyof Event): unknown {
  if (name === 'involvedObject' || name === 'related') return internalForm('core.ObjectReference', event[name]);
  return name === 'source' ? internalForm('core.EventSource', event.source ?? {}) : event[name];
}

const referenceNames = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'] as const;

function referenceFields(
  prefix: string,
  reference: DeepReadonly<Event>['involvedObject'] | undefined,
): Record<string, string> {
  return Object.fromEntries(referenceNames.map((name) => [`${prefix}.${name}`, reference?.[name] ?? '']));
}

const maxTextBytes = 128;
const maxNoteBytes = 1024;

/** Old events have no eventTime and are hardly checked. Source: legacyValidateEvent. */
function validateEvent(root: Field, event: DeepReadonly<Event>, controllerField: string): void {
  const namespace = event.metadata?.namespace ?? '';
  const about = event.involvedObject.namespace ?? '';
  const isNew = Boolean(event.eventTime);
  const wellKnown = isNew ? ['default', 'kube-system'] : ['', 'default'];
  const isSame = about === namespace || (about === '' && wellKnown.includes(namespace)) || (isNew && about !== '');
  if (!isSame) root.child('involvedObject', 'namespace').invalid(about, 'does not match event.namespace');
  if (isNew) validateNewEvent(root, event, controllerField);
  root.child('namespace').invalidAll(namespace, namespace === '' ? [] : dnsSubdomainErrors(namespace));
}

function validateNewEvent(root: Field, event: DeepReadonly<Event>, controllerField: string): void {
  const controller = event.reportingComponent ?? '';
  if (controller === '') root.child(controllerField).required();
  root.child(controllerField).invalidAll(controller, qualifiedNameErrors(controller));
  for (const name of ['reportingInstance', 'action', 'reason'] as const) {
    const text = event[name] ?? '';
    if (text === '') root.child(name).required();
    if (Buffer.byteLength(text) > maxTextBytes)
      root.child(name).invalid('', `can have at most ${maxTextBytes} characters`);
  }
  if (Buffer.byteLength(event.message ?? '') > maxNoteBytes)
    root.child('message').invalid('', `can have at most ${maxNoteBytes} characters`);
}

/** Members of the core event with their names in events.k8s.io. All others have the same name. */
const renamed: readonly (readonly [core: string, events: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];

function fromCoreEvent(object: DeepReadonly<UnstructuredObject>): UnstructuredObject {
  const names = new Map(renamed);
  return inForm('events.v1.Event', 'events.k8s.io/v1', rename(object, names));
}

function toCoreEvent(object: DeepReadonly<UnstructuredObject>): UnstructuredObject {
  const names = new Map(renamed.map(([core, events]) => [events, core] as const));
  return inForm('core.v1.Event', 'v1', rename(object, names));
}

function rename(object: DeepReadonly<UnstructuredObject>, names: ReadonlyMap<string, string>): UnstructuredObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [names.get(key) ?? key, deepCopy(value)]),
  ) as UnstructuredObject;
}

function inForm(definition: string, apiVersion: string, object: UnstructuredObject): UnstructuredObject {
  object.apiVersion = apiVersion;
  kubernetesTypes.normalize(definition, object);
  return object;
}
