// Whether the API that an APIService stands for can be had: the condition "Available". Local ones always; others never, because
// this server passes no requests on. Used by api-service-registration.ts. Source: kube-aggregator controllers/status.
import { type DeepReadonly, formatTime } from '@kapstan/api';
import type { APIService, APIServiceCondition } from '@kapstan/kinds/apiregistration.k8s.io/v1';

type Said = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>;

const local: Said = { status: 'True', reason: 'Local', message: 'Local APIServices are always available' };
const remote: Said = {
  status: 'False',
  reason: 'AggregationNotSupported',
  message: 'this server does not pass requests on to other API servers',
};

export function isAvailable({ status }: DeepReadonly<APIService>): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Available' && value === 'True') === true;
}

/** The object with its condition put right; undefined when it says so already. */
export function withAvailability(service: DeepReadonly<APIService>, nowMs: number): APIService | undefined {
  const wanted = service.spec?.service === undefined ? local : remote;
  const conditions = service.status?.conditions ?? [];
  const present = conditions.find(({ type }) => type === 'Available');
  if (present?.status === wanted.status && present.reason === wanted.reason && present.message === wanted.message)
    return undefined;
  // The time tells when the status changed, not when its reason did.
  const lastTransitionTime = present?.status === wanted.status ? present.lastTransitionTime : formatTime(nowMs);
  const condition: APIServiceCondition = {
    type: 'Available',
    ...wanted,
    ...(lastTransitionTime !== undefined && { lastTransitionTime }),
  };
  const others = conditions.filter(({ type }) => type !== 'Available');
  return { ...(service as APIService), status: { conditions: [...others, condition] } };
}
