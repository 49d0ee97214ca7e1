// Runs the strategies of /status endpoints of built-in kinds on two statuses, without a store. Used by tests.
import { deepCopy, type UnstructuredObject } from '@kapstan/api';
import { formatFieldError } from '@kapstan/api/errors';
import type { ResourceDefinition } from '@kapstan/apiserver';
import type { StrategySubresource } from '@kapstan/apiserver/internal';
import { testContext } from '@kapstan/apiserver/testing';
import { builtinResources } from '../builtin-resources.ts';

/** 2026-01-01T00:00:00Z. */
const nowMs = 1_767_225_600_000;
const definitions = builtinResources({
  serviceClusterIpRange: '10.96.0.0/16',
  clock: {
    now: () => nowMs,
    monotonicNow: () => 0,
    setTimer: () => () => undefined,
    setBackgroundTimer: () => () => undefined,
  },
});

export type Fields = Record<string, unknown>;

/** The status sent by a client, and the stored one. */
export interface Statuses {
  readonly next: unknown;
  readonly old?: unknown;
}

export function definitionOf(resource: string): ResourceDefinition {
  const found = definitions.find((definition) => definition.resource === resource);
  if (found === undefined) throw new TypeError(`no resource ${resource}`);
  return found;
}

export function statusEndpoint(resource: string): StrategySubresource<UnstructuredObject> {
  return definitionOf(resource).subresources.find(
    ({ name }) => name === 'status',
  ) as StrategySubresource<UnstructuredObject>;
}

/** Returns the object as the endpoint would store it, and the stored one. */
export function preparedStatus(resource: string, object: Fields, statuses: Statuses): [next: Fields, old: Fields] {
  const [next, old] = sentStatus(resource, object, statuses);
  statusEndpoint(resource).strategy.canonicalize?.(next);
  return [next as unknown as Fields, old as unknown as Fields];
}

/** Returns the object as the endpoint validates it, and the stored one. */
function sentStatus(
  resource: string,
  object: Fields,
  statuses: Statuses,
): [next: UnstructuredObject, old: UnstructuredObject] {
  const withStatus = (status: unknown): UnstructuredObject => {
    const copy = deepCopy({ metadata: { name: 'x' }, ...object, ...(status === undefined ? {} : { status }) });
    definitionOf(resource).applyDefaults(copy as UnstructuredObject);
    return copy as UnstructuredObject;
  };
  const [next, old] = [withStatus(statuses.next), withStatus(statuses.old)];
  statusEndpoint(resource).strategy.prepareForUpdate(next, old, testContext());
  return [next, old];
}

/** Returns the endpoint's errors. */
export function statusRefusals(resource: string, object: Fields, statuses: Statuses): string[] {
  const [next, old] = sentStatus(resource, object, statuses);
  return statusEndpoint(resource).strategy.validateUpdate(next, old, testContext()).map(formatFieldError);
}
