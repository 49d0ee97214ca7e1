import { runWhole, type SlicedWork } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { customSchema } from './custom-schema.ts';
import { openApiSchemaPieces } from './openapi-protobuf.ts';
import { swaggerDefinitionPieces } from './swagger-protobuf.ts';

type Json = Record<string, unknown>;
const object = { type: 'object' };

/** Returns a schema with this many leaves, some in lists and maps. */
function schemaOf(leaves: number): Json {
  const properties: Json = {};
  for (let index = 0; index < leaves; index++) {
    const leaf = { type: 'string', description: `Leaf ${index}.`, maxLength: index };
    const shapes = [leaf, { type: 'array', items: leaf }, { ...object, additionalProperties: leaf }];
    properties[`p${index}`] = shapes[index % shapes.length];
  }
  const inner = { ...object, properties };
  return {
    ...object,
    properties: { list: { type: 'array', items: inner }, map: { ...object, additionalProperties: inner } },
  };
}

/** Counts the steps of some work. */
function stepsOf(work: SlicedWork<unknown>): number {
  let steps = 0;
  while (work.next().done !== true) steps += 1;
  return steps;
}

describe('a schema of many properties', () => {
  const large = schemaOf(2_000);
  const few = schemaOf(3);

  it.each([
    ['v3', openApiSchemaPieces],
    ['v2', swaggerDefinitionPieces],
  ] as const)('is the same message as in one piece, in %s', (_, pieces) => {
    const whole = Buffer.concat(runWhole(pieces('n', large)));
    // The bytes of the large schema contain the same leaves as a schema that is small enough for one step.
    const small = Buffer.concat(runWhole(pieces('n', few))).toString('latin1');
    expect(small).toContain('Leaf 2.');
    for (const index of [0, 1, 2, 999, 1_999]) {
      expect(whole.toString('latin1').split(`Leaf ${index}.`)).toHaveLength(3);
    }
  });

  it('is converted and encoded in steps', () => {
    expect(stepsOf(customSchema(large, { version: 'v3', embedded: {} }))).toBeGreaterThan(4_000);
    expect(stepsOf(openApiSchemaPieces('n', large))).toBeGreaterThan(4_000);
    expect(stepsOf(swaggerDefinitionPieces('n', large))).toBeGreaterThan(4_000);
    expect(stepsOf(openApiSchemaPieces('n', few))).toBe(0);
  });
});
