// Decides the condition "Available" of an APIService. Local ones are always available; remote ones never, because this server does not
// proxy requests to other servers. Used by api-service-registration.ts. Source: kube-aggregator controllers/status.
import { type DeepReadonly, formatTime } from '@kapstan/api';
import type { APIService, APIServiceCondition } from '@kapstan/kinds/apiregistration.k8s.io/v1';

type Said = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>;

const local: Said = { status: 'True', reason: 'Local', message: 'Local APIServices are always available' };
const remote: Said = {
  status: 'False',
  reason: 'AggregationNotSupported',
  message: 'this server does not proxy requests to other API servers',
};

export function isAvailable({ status }: DeepReadonly<APIService>): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Available' && value === 'True') === true;
}

/** Returns the object with its condition corrected; undefined when the condition is already right. */
export function withAvailability(service: DeepReadonly<APIService>, nowMs: number): APIService | undefined {
  const wanted = service.spec?.service === undefined ? local : remote;
  const conditions = service.status?.conditions ?? [];
  const present = conditions.find(({ type }) => type === 'Available');
  if (present?.status === wanted.status && present.reason === wanted.reason && present.message === wanted.message)
    return undefined;
  // lastTransitionTime moves only when the status changes, not when its reason does.
  const lastTransitionTime = present?.status === wanted.status ? present.lastTransitionTime : formatTime(nowMs);
  const condition: APIServiceCondition = {
    type: 'Available',
    ...wanted,
    ...(lastTransitionTime !== undefined && { lastTransitionTime }),
  };
  const others = conditions.filter(({ type }) => type !== 'Available');
  return { ...(service as APIService), status: { conditions: [...others, condition] } };
}
