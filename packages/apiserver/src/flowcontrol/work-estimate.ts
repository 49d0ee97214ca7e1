// WorkEstimate is the width of a request in seats. Made by work-estimator.ts, used by fair-queue.ts. Source: request.WorkEstimate.

export interface WorkEstimate {
  /** Seats taken while the request runs. */
  readonly initialSeats: number;
  /** Seats held after the end of the request, for its consequences: the delivery of its event to watches. */
  readonly finalSeats: number;
  /** Time for which seats stay taken after the end of the request. */
  readonly lingerMs: number;
}

/** Most requests take one seat. */
export const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, lingerMs: 0 };
