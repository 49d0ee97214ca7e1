// Writes the condition "Available" of an APIService. Local ones are always available; remote-availability.ts checks the others.
// Used by api-service-registration.ts too. Source: kube-aggregator controllers/status, apiregistration/v1/helper.
import { type DeepReadonly, formatTime } from '@kapstan/api';
import type { APIService, APIServiceCondition } from '@kapstan/kinds/apiregistration.k8s.io/v1';

/** The reported availability of an APIService. */
export type Availability = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>;

const local: Availability = { status: 'True', reason: 'Local', message: 'Local APIServices are always available' };

export function isAvailable({ status }: DeepReadonly<APIService>): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Available' && value === 'True') === true;
}

/** Returns a local APIService with its condition corrected; undefined when nothing is to be written. */
export function withLocalAvailability(service: DeepReadonly<APIService>, nowMs: number): APIService | undefined {
  return service.spec?.service === undefined ? withAvailability(service, local, nowMs) : undefined;
}

/** Returns the object with its condition corrected; undefined when the condition is already right. */
export function withAvailability(
  service: DeepReadonly<APIService>,
  wanted: Availability,
  nowMs: number,
): APIService | undefined {
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
  const next = conditions.map((each) => (each.type === 'Available' ? condition : { ...each }));
  const all = present === undefined ? [...next, condition] : next;
  return { ...(service as APIService), status: { conditions: all } };
}
