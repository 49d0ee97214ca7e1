// Compares the conversion of documents with recorded results of Go's; fixtures/converted-openapi.json names the
// version.
import { readFileSync } from 'node:fs';
import { runWhole } from '@kapstan/api/internal';
import { expect, it } from 'vitest';
import { convertOpenApi } from './converted-openapi.ts';

const fixture = new URL('../../fixtures/converted-openapi.json', import.meta.url);
const { v2, v3 } = JSON.parse(readFileSync(fixture, 'utf8')) as Readonly<Record<'v2' | 'v3', object>>;

it('a document of OpenAPI v2 becomes what it becomes in Go', () => {
  expect(runWhole(convertOpenApi(v2))).toEqual(v3);
});

it('a large document is converted in many steps', () => {
  const { definitions } = v2 as { readonly definitions: Readonly<Record<string, object>> };
  let steps = 0;
  for (const _ of convertOpenApi(v2)) steps++;
  expect(steps).toBeGreaterThanOrEqual(Object.keys(definitions).length);
});

it('a document that is not an object is refused', () => {
  expect(() => runWhole(convertOpenApi([]))).toThrow(new TypeError('the schema document is not an object'));
});
