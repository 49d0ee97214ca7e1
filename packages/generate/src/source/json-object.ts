// Readers for parsed JSON of unchecked form. Errors begin with the place.

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Throws Error unless the value is an object. */
export function requiredObject(value: unknown, place: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new Error(`${place}: ${value === undefined || value === null ? 'Required value' : 'must be an object'}`);
}

/** Throws Error unless the value is a text that is not empty. */
export function requiredText(value: unknown, place: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`${place}: ${value === undefined || value === null ? 'Required value' : 'must be a string'}`);
}
