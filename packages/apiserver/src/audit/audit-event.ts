// AuditEvent is the record of a request at one stage, in two forms as a line. Made by audit-trail.ts, written by
// audit-record.ts. Source: apiserver apis/audit/v1/types.go, pkg/audit/format.go (1.36).

import { type Status, stringifyJson } from '@kapstan/api';
import { formatMicroTime, parseJsonInSlices, type SlicedWork, stringifyInSlices } from '@kapstan/api/internal';
import type { UserInfo } from '../registry/definition/request-context.ts';
import type { AuditLevel, AuditStage } from './audit-policy.ts';

export interface ObjectReference {
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiGroup?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
  readonly subresource?: string;
}

/** An object as the JSON text in the event. */
export type RecordedObject = string;

export interface AuditEvent {
  readonly level: AuditLevel;
  readonly auditId: string;
  readonly stage: AuditStage;
  readonly requestUri: string;
  readonly verb: string;
  /** Undefined when the user is not known. */
  readonly user: UserInfo | undefined;
  readonly impersonatedUser: UserInfo | undefined;
  /** The impersonation mode that allowed the request; undefined for the old mode. */
  readonly impersonationConstraint: string | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
  readonly objectRef: ObjectReference | undefined;
  readonly responseStatus: Partial<Status> | undefined;
  readonly requestObject: RecordedObject | undefined;
  readonly responseObject: RecordedObject | undefined;
  /** Wall clock in milliseconds. */
  readonly receivedMs: number;
  readonly stageMs: number;
  readonly annotations: ReadonlyMap<string, string>;
}

/** A kind of audit.k8s.io, which is not served. */
export const auditEventKind = 'Event';

/** Returns the event as a line of JSON, with its newline: the kind Event of audit.k8s.io/v1. */
export function formatJsonEvent(event: AuditEvent): string {
  const { level, auditId, stage, requestUri, verb, impersonatedUser, impersonationConstraint, objectRef } = event;
  const parts = [
    member('kind', auditEventKind),
    member('apiVersion', 'audit.k8s.io/v1'),
    member('level', level),
    member('auditID', auditId),
    member('stage', stage),
    member('requestURI', requestUri),
    member('verb', verb),
    member('user', wireUser(event.user)),
    impersonatedUser && member('impersonatedUser', wireUser(impersonatedUser)),
    impersonationConstraint && member('authenticationMetadata', { impersonationConstraint }),
    event.sourceIps.length > 0 && member('sourceIPs', event.sourceIps),
    event.userAgent !== '' && member('userAgent', event.userAgent),
    objectRef && member('objectRef', withoutEmpty(objectRef)),
    event.responseStatus && member('responseStatus', { metadata: {}, ...event.responseStatus }),
    event.requestObject && `"requestObject":${event.requestObject}`,
    event.responseObject && `"responseObject":${event.responseObject}`,
    member('requestReceivedTimestamp', formatMicroTime(event.receivedMs)),
    member('stageTimestamp', formatMicroTime(event.stageMs)),
    event.annotations.size > 0 && member('annotations', sorted(event.annotations)),
  ];
  return `{${parts.filter((part) => typeof part === 'string').join(',')}}\n`;
}

/** Returns the event as a line of text, with its newline. */
export function formatLegacyEvent(event: AuditEvent): string {
  const { user, impersonatedUser: as } = event;
  const quote = (text: string): string => JSON.stringify(text);
  const quoteAll = (texts: readonly string[]): string => texts.map(quote).join(',');
  const name = user?.name ?? '';
  const groups = name === '' || user?.groups.length === 0 ? '<none>' : quoteAll(user?.groups ?? []);
  const fields = [
    ['id', event.auditId],
    ['stage', event.stage],
    ['ip', event.sourceIps[0] ?? '<unknown>'],
    ['method', event.verb],
    ['user', name === '' ? '<none>' : name],
    ['groups', groups],
    ['as', as?.name ?? '<self>'],
    ['asgroups', as === undefined ? '<lookup>' : quoteAll(as.groups)],
    ['user-agent', event.userAgent],
    ['namespace', event.objectRef?.namespace || '<none>'],
    ['uri', event.requestUri],
    ['response', String(event.responseStatus?.code ?? '<deferred>')],
  ] as const;
  const time = formatMicroTime(event.receivedMs).replace(/\.?0+Z$/, 'Z');
  return `${time} AUDIT: ${fields.map(([key, value]) => `${key}=${quote(value)}`).join(' ')}\n`;
}

/** Returns an object as one line of JSON for an event. */
export function* recordInSlices(value: unknown, managedFields: 'kept' | 'omitted'): SlicedWork<RecordedObject> {
  return yield* stringifyInSlices(managedFields === 'kept' ? value : withoutManagedFields(value));
}

/** Does what {@link recordInSlices} does, with bytes that are already JSON. */
export function* recordJsonInSlices(bytes: Uint8Array, managedFields: 'kept' | 'omitted'): SlicedWork<RecordedObject> {
  const text = Buffer.from(bytes).toString().trim();
  if (managedFields === 'kept' && !text.includes('\n')) return text;
  return yield* recordInSlices(yield* parseJsonInSlices(text), managedFields);
}

/** Removes managed fields from an object, the items of a list, or the objects in the rows of a Table. */
function withoutManagedFields(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { metadata, items, rows } = value;
  return {
    ...value,
    ...(isRecord(metadata) && { metadata: withoutMember(metadata, 'managedFields') }),
    ...(Array.isArray(items) && { items: items.map(withoutManagedFields) }),
    ...(Array.isArray(rows) && {
      rows: rows.map((row: Record<string, unknown>) => ({ ...row, object: withoutManagedFields(row.object) })),
    }),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutMember(object: Record<string, unknown>, name: string): Record<string, unknown> {
  const { [name]: _, ...rest } = object;
  return rest;
}

function member(name: string, value: unknown): string {
  return `"${name}":${stringifyJson(value)}`;
}

function wireUser(user: UserInfo | undefined): Record<string, unknown> {
  const { name = '', uid = '', groups = [], extra = {} } = user ?? {};
  return {
    ...(name !== '' && { username: name }),
    ...(uid !== '' && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

function withoutEmpty(reference: ObjectReference): Record<string, unknown> {
  return Object.fromEntries(Object.entries(reference).filter(([, value]) => value !== '' && value !== undefined));
}

function sorted(annotations: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...annotations].sort(([one], [other]) => (one < other ? -1 : 1)));
}
