// Facts about Kubernetes' own kinds on which the width of requests depends. They are passed to the API server's flow control, which names
// no kind. Source: flowcontrol/watch_tracker.go getBuiltinIndexes, request/mutating_work_estimator.go isRequestExemptFromWatchEvents.

export interface FlowControlFacts {
  /** Resource → field by which caches find watches. */
  readonly watchIndexes: ReadonlyMap<string, string>;
  /** Subresources whose writes reach no watch. */
  readonly withoutEvents: ReadonlySet<string>;
}

/** The facts about Kubernetes' kinds for priority and fairness. */
export const flowControlFacts: FlowControlFacts = {
  watchIndexes: new Map([['pods', 'spec.nodeName']]),
  withoutEvents: new Set(['serviceaccounts/token']),
};
