// Bodies with too many values are refused, in each format and as each kind of patch.
import { isStatusError, type UnstructuredObject } from '@kapstan/api';
import { rememberSize, runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { readEnvelopeInSlices, wrapMessage } from '../codec/protobuf-envelope.ts';
import type { PatchType } from '../patch/apply-patch.ts';
import { factTypes } from '../testing/fact-types.ts';
import { applyPatch, decodeObject } from '../testing/whole-work.ts';
import { bodyError, bodyLimits } from './body-limits.ts';
import type { SchemaNode } from './node/schema-node.ts';

const gvk = { group: '', version: 'v1', kind: 'ConfigMap' };
const schema = factTypes.schemaOfKind('v1', 'ConfigMap') as SchemaNode;
const wide = (members: number, name = 'k'): string =>
  `{${Array.from({ length: members }, (_, index) => `"${name}${index.toString(36)}":"x"`).join()}}`;
const dense = `{"metadata":{"finalizers":[${Array(bodyLimits.maxValues).fill('""').join()}]}}`;
const tooWide = `{"data":${wide(bodyLimits.maxMembers + 1)}}`;
const asWideAsAllowed = `{"data":${wide(bodyLimits.maxMembers)}}`;

function refusal(work: () => unknown): { readonly code: number; readonly message: string } | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    const refused = bodyError(error);
    if (!isStatusError(refused)) throw refused;
    return { code: refused.code, message: refused.message };
  }
}

const tooManyValues = {
  code: 413,
  message: 'Request entity too large: the body holds more than 500000 values',
};
const tooManyMembers = {
  code: 413,
  message: 'Request entity too large: the body holds an object with more than 100000 members',
};

describe('a body', () => {
  const decode = (text: string): unknown =>
    decodeObject(Buffer.from(text), {
      schema,
      gvk,
      fieldValidation: 'Ignore',
      warn: () => undefined,
      mediaType: 'application/json',
    });

  it('of more values than allowed is refused', () => {
    expect(refusal(() => decode(dense))).toEqual(tooManyValues);
  });

  it('with an object of more members than allowed is refused', () => {
    expect(refusal(() => decode(tooWide))).toEqual(tooManyMembers);
    expect(refusal(() => decode(asWideAsAllowed))).toBeUndefined();
  });

  it('in protobuf has the same limits', () => {
    const content = { types: factTypes, expected: gvk };
    const read = (raw: Buffer): unknown => runWhole(readEnvelopeInSlices(wrapMessage(gvk, raw), content, bodyLimits));
    const emptyFinalizers = Buffer.alloc(2 * (bodyLimits.maxValues + 1), Buffer.from([14 * 8 + 2, 0]));
    const length = Buffer.from([0x0a, ...varint(emptyFinalizers.length)]);
    expect(refusal(() => read(Buffer.concat([length, emptyFinalizers])))).toEqual(tooManyValues);
    const emptyEntries = Buffer.alloc(2 * (bodyLimits.maxMembers + 1), Buffer.from([2 * 8 + 2, 0]));
    expect(refusal(() => read(emptyEntries))).toEqual(tooManyMembers);
  });
});

describe('a patch', () => {
  const patch = (type: PatchType, text: string, present: object = {}): unknown =>
    applyPatch(
      present as UnstructuredObject,
      { type, body: Buffer.from(text) },
      { schema, gvk, fieldValidation: 'Ignore', warn: () => undefined },
    );

  it.each<PatchType>(['merge', 'strategic'])('of type %s has the same limits', (type) => {
    expect(refusal(() => patch(type, dense))).toEqual(tooManyValues);
    expect(refusal(() => patch(type, tooWide))).toEqual(tooManyMembers);
  });

  it('of type json has the same limits', () => {
    expect(
      refusal(() => patch('json', `[{"op":"add","path":"/data","value":${wide(bodyLimits.maxMembers + 1)}}]`)),
    ).toEqual(tooManyMembers);
  });
});

describe('the result of a patch', () => {
  const data = (members: number, name: string): Record<string, string> =>
    JSON.parse(wide(members, name)) as Record<string, string>;
  const present = (members: number): UnstructuredObject => {
    const object = { metadata: {}, data: data(members, 'a') };
    rememberSize(object.data, members);
    return object;
  };
  const patch = (type: PatchType, members: Record<string, string | null>, of: number): unknown =>
    applyPatch(
      present(of),
      { type, body: Buffer.from(JSON.stringify({ data: members })) },
      { schema, gvk, fieldValidation: 'Ignore', warn: () => undefined },
    );
  const half = bodyLimits.maxMembers / 2;
  const tooWideResult = {
    code: 413,
    message: 'Request entity too large: the result holds an object with more than 100000 members',
  };

  it.each<PatchType>(['merge', 'strategic'])('of type %s has at most as many members as a body', (type) => {
    expect(refusal(() => patch(type, data(half, 'b'), half))).toBeUndefined();
    expect(refusal(() => patch(type, data(half + 1, 'b'), half))).toEqual(tooWideResult);
    const removed = Object.fromEntries(Object.keys(data(half, 'a')).map((name) => [name, null]));
    expect(refusal(() => patch(type, { ...removed, ...data(half, 'b') }, half + 1_000))).toBeUndefined();
  });
});

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}
