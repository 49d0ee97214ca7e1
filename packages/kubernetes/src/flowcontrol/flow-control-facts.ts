// What the width of requests depends on in Kubernetes' own kinds. Handed to the API server's flow control, which names no kind. Source:
// flowcontrol/watch_tracker.go getBuiltinIndexes, request/mutating_work_estimator.go isRequestExemptFromWatchEvents.

export interface FlowControlFacts {
  /** Resource → field by which caches find watches. */
  readonly watchIndexes: ReadonlyMap<string, string>;
  /** Subresources whose writes reach no watch. */
  readonly withoutEvents: ReadonlySet<string>;
}

/** What priority and fairness has to know of Kubernetes' kinds. */
export const flowControlFacts: FlowControlFacts = {
  watchIndexes: new Map([['pods', 'spec.nodeName']]),
  withoutEvents: new Set(['serviceaccounts/token']),
};
