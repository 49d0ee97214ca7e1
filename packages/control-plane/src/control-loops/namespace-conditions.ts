// The conditions of a namespace that is being deleted: errors that occurred and content that is left. Written by namespace-controller.ts.
// Types, reasons and messages: pkg/controller/namespace/deletion status_condition_utils.
import { type DeepReadonly, formatTime } from '@kapstan/api';
import type { NamespaceCondition } from '@kapstan/kinds/core/v1';

/** The result of one pass over the content of a namespace. */
export interface ContentReport {
  /** One message for each resource that failed. */
  readonly errors: readonly string[];
  /** Number of remaining objects by resource, such as "pods." or "deployments.apps". */
  readonly remaining: ReadonlyMap<string, number>;
  /** Number of remaining objects by finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
}

type Finding = Pick<NamespaceCondition, 'type' | 'status' | 'reason' | 'message'>;

/**
 * Returns all conditions in order, including those without a failure. Kinds are known here without discovery, so the two about discovery
 * never fail.
 */
function findings(report: ContentReport): Finding[] {
  return [
    good('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
    good(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    contentFailure(report.errors),
    contentRemaining(report.remaining),
    finalizersRemaining(report.finalizers),
  ];
}

function contentFailure(errors: readonly string[]): Finding {
  const type = 'NamespaceDeletionContentFailure';
  if (errors.length === 0) {
    return good(type, 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization');
  }
  const list = [...errors].sort().join(', ');
  const message = `Failed to delete all resource types, ${errors.length} remaining: ${list}`;
  return { type, status: 'True', reason: 'ContentDeletionFailed', message };
}

function contentRemaining(remaining: ReadonlyMap<string, number>): Finding {
  const type = 'NamespaceContentRemaining';
  if (remaining.size === 0) return good(type, 'ContentRemoved', 'All content successfully removed');
  const list = [...remaining].map(([resource, count]) => `${resource} has ${count} resource instances`);
  const message = `Some resources are remaining: ${list.sort().join(', ')}`;
  return { type, status: 'True', reason: 'SomeResourcesRemain', message };
}

function finalizersRemaining(finalizers: ReadonlyMap<string, number>): Finding {
  const type = 'NamespaceFinalizersRemaining';
  if (finalizers.size === 0) {
    return good(type, 'ContentHasNoFinalizers', 'All content-preserving finalizers finished');
  }
  const list = [...finalizers].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`);
  const message = `Some content in the namespace has finalizers remaining: ${list.sort().join(', ')}`;
  return { type, status: 'True', reason: 'SomeFinalizersRemain', message };
}

function good(type: string, reason: string, message: string): Finding {
  return { type, status: 'False', reason, message };
}

/** Returns the conditions with the report merged in; undefined when that changes nothing. Other conditions stay. */
export function conditionsWith(
  present: DeepReadonly<NamespaceCondition[]>,
  report: ContentReport,
  nowMs: number,
): NamespaceCondition[] | undefined {
  const next: NamespaceCondition[] = present.map((condition) => ({ ...condition }));
  let hasChanged = false;
  for (const finding of findings(report)) {
    const old = next.find(({ type }) => type === finding.type);
    if (old === undefined) next.push({ ...finding, lastTransitionTime: formatTime(nowMs) });
    else if (isSame(old, finding)) continue;
    else {
      const isTransition = old.status !== finding.status;
      Object.assign(old, finding, isTransition ? { lastTransitionTime: formatTime(nowMs) } : {});
    }
    hasChanged = true;
  }
  return hasChanged ? next : undefined;
}

function isSame(condition: Finding, finding: Finding): boolean {
  const { status, reason, message } = finding;
  return condition.status === status && condition.reason === reason && condition.message === message;
}
