// The identity under which the aggregator asks other API servers for itself. Source: kube-aggregator.
import type { UserInfo } from '@kapstan/apiserver';

/** Has every right, so that a refusal never looks like a failure. */
export const aggregatorUser: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] };

/** Asks for schemas, which everybody authenticated may read. */
export const schemaUser: UserInfo = { name: 'system:aggregator', groups: [] };
