// Inspection is the port between the inspector and its subject: a manager or a server implements it. Used by
// inspector-feed.ts and inspector-routes.ts.
import type { Sections } from './overview.ts';

/** The data that the inspector reads from a manager or a server, which implement it. */
export interface Inspection {
  readonly subject: 'manager' | 'server';
  /** The controllers of a manager, or the address of a server. */
  readonly name: string;
  /** Returns the present state within a few milliseconds, whatever its size. Called at most once a second. */
  sections(): Sections | Promise<Sections>;
  /**
   * Makers of further documents by name: "keys" is served at /inspect/v1/keys. Each gets the query, and throws {@link InspectionError} for
   * one that it cannot answer.
   */
  readonly documents: Readonly<Record<string, (query: URLSearchParams) => unknown>>;
}

/** The error for a request that cannot be answered: 400 a bad query, 404 not found, 429 too many watchers. */
export class InspectionError extends Error {
  readonly code: 400 | 404 | 429;

  constructor(code: 400 | 404 | 429, message: string) {
    super(message);
    this.name = 'InspectionError';
    this.code = code;
  }
}

/** Returns the first items of a longer row. */
export function someOf<T>(
  all: Iterable<T>,
  { limit, total }: { readonly limit: number; readonly total: number },
): {
  readonly total: number;
  readonly items: readonly T[];
} {
  const items: T[] = [];
  for (const item of all) {
    if (items.length === limit) break;
    items.push(item);
  }
  return { total, items };
}

/**
 * Reads a whole number of a query. Throws {@link InspectionError} 400 for text that is not a number within these
 * bounds.
 */
export function numberOf(
  query: URLSearchParams,
  name: string,
  { min, max, otherwise }: { readonly min: number; readonly max: number; readonly otherwise: number },
): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new InspectionError(400, `${name} must be a whole number from ${min} to ${max}`);
}
