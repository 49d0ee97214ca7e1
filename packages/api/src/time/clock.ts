// Time as a port. Only this file may use the global clock and timers (lint).

import { addAbortListener, removeAbortListener } from './abort-listeners.ts';
import type { CallSignal } from './call-signal.ts';

/** Cancels a timer. Idempotent. */
export type CancelTimer = () => void;

/** Source of time and of timers. Every component accepts one in its options. */
export interface Clock {
  /** Returns the wall clock, in milliseconds since 1970. It may jump, so use it only for timestamps in objects. */
  now(): number;
  /** Returns milliseconds on a clock that never goes back. Use it for durations and deadlines. */
  monotonicNow(): number;
  /** Runs `callback` once after `delayMs`. Longer delays are limited to 2^31 - 1. */
  setTimer(callback: () => void, delayMs: number): CancelTimer;
  /** Does what {@link Clock.setTimer} does, without keeping the process alive. */
  setBackgroundTimer(callback: () => void, delayMs: number): CancelTimer;
}

const maxDelayMs = 2_147_483_647;

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicNow: () => performance.now(),
  setTimer: (callback, delayMs) => {
    const timer = setTimeout(callback, Math.min(delayMs, maxDelayMs));
    return () => clearTimeout(timer);
  },
  setBackgroundTimer: (callback, delayMs) => {
    const timer = setTimeout(callback, Math.min(delayMs, maxDelayMs)) as unknown as { unref?: () => void };
    timer.unref?.();
    return () => clearTimeout(timer as never);
  },
};

/**
 * Resolves after the delay; rejects with the signal's reason when that aborts first.
 *
 * @example
 * ```ts
 * import { delay, systemClock } from '@kapstan/api';
 *
 * const stop = new AbortController();
 * await delay(systemClock, 1000, stop.signal); // a test hands in its virtual clock instead
 * ```
 */
export function delay(clock: Clock, delayMs: number, signal?: CallSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = clock.setTimer(() => {
      removeAbortListener(signal, onAbort);
      resolve();
    }, delayMs);
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    addAbortListener(signal, onAbort);
  });
}

/** The last formatted second: a busy server writes the same one a thousand times. */
let lastSecond = { epoch: Number.NaN, text: '' };

/**
 * Returns RFC 3339 with seconds, as Kubernetes writes meta/v1 Time. Throws RangeError for a number that is not a time.
 *
 * @example
 * ```ts
 * import { formatTime, parseTime } from '@kapstan/api';
 *
 * formatTime(parseTime('2026-11-28T16:00:00.5Z')); // 2026-11-28T16:00:00Z
 * ```
 */
export function formatTime(epochMs: number): string {
  const epoch = Math.floor(epochMs / 1000);
  if (epoch !== lastSecond.epoch) lastSecond = { epoch, text: `${new Date(epochMs).toISOString().slice(0, 19)}Z` };
  return lastSecond.text;
}

/** Returns RFC 3339 with microseconds, as Kubernetes writes meta/v1 MicroTime. */
export function formatMicroTime(epochMs: number): string {
  const iso = new Date(epochMs).toISOString();
  const micros = Math.floor((epochMs % 1) * 1000);
  return `${iso.slice(0, -1)}${String(Math.max(0, micros)).padStart(3, '0')}Z`;
}

/** Returns milliseconds since 1970 for an RFC 3339 text; NaN when the text is invalid. */
export function parseTime(text: string): number {
  return Date.parse(text);
}

/** Makes a Date for libraries that need one. */
export function toDate(epochMs: number): Date {
  return new Date(epochMs);
}
