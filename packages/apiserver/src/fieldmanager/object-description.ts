// Formats objects and their kinds for errors. Used by field-manager.ts.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { formatApiVersion, type GroupVersionKind, isJsonObject } from '@kapstan/api/internal';

/**
 * Formats a GroupVersionKind as Go does: "apps/v1, Kind=Deployment", "/v1, Kind=Pod"; empty when the version cannot be
 * read.
 */
export function formatKind(apiVersion: string, kind: string): string {
  if (apiVersion.split('/').length > 2) return '/, Kind=';
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

/** Names an object in errors. Source: managedfields objectGVKNN. */
export function describeObject(object: DeepReadonly<UnstructuredObject>, kind: GroupVersionKind): string {
  const metadata: Record<string, unknown> = isJsonObject(object.metadata) ? object.metadata : {};
  return `${textOf(metadata.namespace)}/${textOf(metadata.name)}; ${formatKind(formatApiVersion(kind), kind.kind)}`;
}

/** Clients may send any value instead of a text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
