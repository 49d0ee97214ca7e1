// SeatSeconds measure work: seats multiplied by the time for which they are held. They are whole numbers of 10 ns of one seat, so sums are
// exact. Used by queue-set.ts. Source: util/flowcontrol/request/seat_seconds.go.

/** Work, as a whole number of hundred-millionths of a seat-second. */
export type SeatSeconds = number;

const perSecond = 1e8;
const perMs = perSecond / 1000;

/**
 * A progress meter that has passed this is set back by {@link meterStep}, so that sums stay exact below 2^53. With 600 busy seats that
 * happens once in 31 hours.
 */
export const meterLimit: SeatSeconds = 0.75 * 2 ** 53;
export const meterStep: SeatSeconds = 0.5 * 2 ** 53;

export function seatSeconds(seats: number, ms: number): SeatSeconds {
  return Math.round(seats * ms * perMs);
}

/** Returns for how many milliseconds the work holds the seats. */
export function msPerSeat(work: SeatSeconds, seats: number): number {
  return work / seats / perMs;
}

/** Returns seconds of one seat. */
export function toSeconds(work: SeatSeconds): number {
  return work / perSecond;
}

/** Returns the text that the debug pages show: "1.50000000ss". */
export function formatSeatSeconds(work: SeatSeconds): string {
  const digits = String(Math.abs(work)).padStart(9, '0');
  return `${work < 0 ? '-' : ''}${digits.slice(0, -8)}.${digits.slice(-8)}ss`;
}
