// Writes numbers and times as people read them.
import { h } from './dom.ts';

let offsetMs = 0;

/** Records the time of the process that is shown, so that the clock of this computer does not matter. */
export function setNow(at: number): void {
  offsetMs = at - performance.now();
}

export function now(): number {
  return offsetMs + performance.now();
}

/** Returns, for example, "850 ms", "12 s", "3 min", "2.5 h" or "4 d". */
export function duration(ms: number): string {
  const units: readonly (readonly [least: number, unit: string])[] = [
    [172_800_000, 'd'],
    [7_200_000, 'h'],
    [120_000, 'min'],
    [1000, 's'],
    [0, 'ms'],
  ];
  const sizes: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, min: 60_000, s: 1000, ms: 1 };
  const size = Math.max(0, ms);
  const unit = units.find(([least]) => size >= least)?.[1] ?? 'ms';
  const amount = size / (sizes[unit] ?? 1);
  return `${amount < 10 && unit !== 'ms' ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}

export function count(value: number): string {
  return value.toLocaleString('en').replaceAll(',', '\u202f');
}

export function bytes(value: number): string {
  const unit = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let index = 0;
  let amount = value;
  for (; amount >= 1024 && index < unit.length - 1; index++) amount /= 1024;
  return `${amount < 10 && index > 0 ? amount.toFixed(1) : Math.round(amount)} ${unit[index]}`;
}

/**
 * Returns an element that shows how long ago a time was, or how long until then; {@link updateTimes} keeps it up to
 * date.
 */
export function time(at: number | undefined): HTMLElement {
  if (at === undefined) return h('span', {}, '–');
  const element = h('time', { 'data-at': String(at), title: new Date(at).toISOString() });
  element.textContent = relative(at);
  return element;
}

function relative(at: number): string {
  const ms = now() - at;
  return ms >= 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`;
}

export function updateTimes(): void {
  for (const element of document.querySelectorAll<HTMLElement>('time[data-at]'))
    element.textContent = relative(Number(element.getAttribute('data-at')));
}
