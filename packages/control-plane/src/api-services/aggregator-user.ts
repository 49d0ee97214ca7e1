// The identity under which the aggregator sends its own requests to other API servers. Source: kube-aggregator.
import type { UserInfo } from '@kapstan/apiserver';

/** A user with every right, so that a refusal never looks like a failure. */
export const aggregatorUser: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] };

/** The user that requests schemas, which every authenticated user may read. */
export const schemaUser: UserInfo = { name: 'system:aggregator', groups: [] };
