// Flags of `kapstan serve` that limit the number of concurrent requests. Part of serve-flags.ts.
import { booleanFlag, type Flag, intFlag } from './flag-set.ts';

const maxInt = 2_147_483_647;

export interface RequestLimitFlags {
  readonly 'enable-priority-and-fairness': boolean;
  readonly 'max-requests-inflight': number;
  readonly 'max-mutating-requests-inflight': number;
}

export const requestLimitFlags: { readonly [K in keyof RequestLimitFlags]: Flag<RequestLimitFlags[K]> } = {
  'enable-priority-and-fairness': booleanFlag(
    'Share the concurrency limit of the server among requests by flow schemas and priority levels.',
    true,
  ),
  'max-requests-inflight': limitFlag(400, 'non-mutating', 'max-mutating-requests-inflight'),
  'max-mutating-requests-inflight': limitFlag(200, 'mutating', 'max-requests-inflight'),
};

function limitFlag(value: number, kind: string, other: string): Flag<number> {
  const help = `Added to --${other} for the total concurrency limit of the server. With --enable-priority-and-fairness=false, maximum number of ${kind} requests in flight; 0 means no limit.`;
  return intFlag(help, { default: value, min: 0, max: maxInt });
}

/** Returns errors that concern several flags. */
export function requestLimitErrors(values: RequestLimitFlags): readonly string[] {
  const [reads, writes] = [values['max-requests-inflight'], values['max-mutating-requests-inflight']];
  if (!values['enable-priority-and-fairness'] || reads < 0 || writes < 0 || reads + writes > 0) return [];
  return [
    `invalid configuration: MaxRequestsInFlight=${reads} and MaxMutatingRequestsInFlight=${writes}; they must add up to something positive`,
  ];
}
