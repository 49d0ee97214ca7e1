// WorkEstimate says how wide a request is. Made by work-estimator.ts, used by fair-queue.ts. Source: request.WorkEstimate.

export interface WorkEstimate {
  /** Seats taken while the request runs. */
  readonly initialSeats: number;
  /** Seats held after the end of the request, for what it causes: the delivery of its event to watches. */
  readonly finalSeats: number;
  /** For how long after the end of the request seats stay taken. */
  readonly lingerMs: number;
}

/** Most requests take one seat. */
export const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, lingerMs: 0 };
