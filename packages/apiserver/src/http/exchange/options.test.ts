import { isStatusError } from '@kapstan/api';
import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { deleteOptionsFromBody, deleteOptionsFromQuery } from './delete-options.ts';
import { parseListOptions } from './list-options.ts';
import { decodeBoolean, decodeInteger } from './query-parameters.ts';
import { WarningRecorder } from './warning-recorder.ts';
import { managerOrUserAgent, parseWriteOptions } from './write-options.ts';

const query = (text: string) => new URLSearchParams(text);
function refusal(run: () => unknown): { code: number; message: string } {
  try {
    run();
  } catch (error) {
    if (isStatusError(error)) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('was not refused');
}

describe('values of the query', () => {
  it('reads booleans as Go does', () => {
    expect([null, '', '0', 'FALSE', 'no', '1'].map(decodeBoolean)).toEqual([undefined, true, false, false, true, true]);
  });

  it('reads integers as Go does', () => {
    expect(['5', '-1', '+3', null].map(decodeInteger)).toEqual([5, -1, 3, undefined]);
    expect(() => decodeInteger('')).toThrow('strconv.ParseInt: parsing "": invalid syntax');
    expect(() => decodeInteger('1.5')).toThrow('strconv.ParseInt: parsing "1.5": invalid syntax');
    expect(() => decodeInteger('9223372036854775808')).toThrow('value out of range');
  });
});

describe('options of a list', () => {
  const invalid = 'ListOptions.meta.k8s.io "" is invalid: ';
  it.each([
    [
      'resourceVersionMatch=Exact',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    [
      'resourceVersion=1&resourceVersionMatch=Exact&continue=x',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
    ],
    [
      'resourceVersion=1&resourceVersionMatch=X',
      'resourceVersionMatch: Unsupported value: "X": supported values: "Exact", "NotOlderThan", ""',
    ],
    [
      'resourceVersion=0&resourceVersionMatch=Exact',
      'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    ['sendInitialEvents=false', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
  ])('%s is refused', (text, message) => {
    expect(refusal(() => parseListOptions(query(text), { isWatch: false }))).toEqual({
      code: 422,
      message: invalid + message,
    });
  });

  it.each([
    ['limit=many', 'strconv.ParseInt: parsing "many": invalid syntax'],
    ['labelSelector=a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['fieldSelector=a', "invalid selector: 'a'; can't understand 'a'"],
  ])('%s cannot be read', (text, message) => {
    expect(refusal(() => parseListOptions(query(text), { isWatch: false }))).toEqual({ code: 400, message });
  });

  it('passes on what the store asks for', () => {
    const text = 'labelSelector=a%3D1&resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=7&timeoutSeconds=3';
    expect(parseListOptions(query(text), { isWatch: false })).toEqual({
      select: { labelSelector: 'a=1', resourceVersion: '5', resourceVersionMatch: 'NotOlderThan', limit: 7 },
      allowWatchBookmarks: false,
      timeoutSeconds: 3,
    });
    expect(parseListOptions(query('limit=-1'), { isWatch: false }).select).toEqual({});
  });
});

describe('options of a watch', () => {
  it('streams the present state first when no version is named', () => {
    for (const text of ['', 'resourceVersion=0']) {
      const options = parseListOptions(query(`watch=1&${text}`), { isWatch: true });
      expect(options).toMatchObject({ sendInitialEvents: true, select: { resourceVersionMatch: 'NotOlderThan' } });
    }
    expect(parseListOptions(query('watch=1&resourceVersion=5'), { isWatch: true }).sendInitialEvents).toBeUndefined();
    const chosen = 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan';
    expect(parseListOptions(query(`watch=1&${chosen}`), { isWatch: true }).sendInitialEvents).toBe(false);
  });

  it.each([
    [
      'sendInitialEvents=1',
      'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    ],
    [
      'resourceVersion=1&resourceVersionMatch=NotOlderThan',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    ],
    ['continue=abc', 'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided'],
  ])('%s is refused', (text, message) => {
    expect(refusal(() => parseListOptions(query(`watch=1&${text}`), { isWatch: true })).message).toBe(
      `ListOptions.meta.k8s.io "" is invalid: ${message}`,
    );
  });

  it('of one object selects its name', () => {
    const parse = (text: string) => parseListOptions(query(text), { isWatch: true, name: 'a' });
    expect(parse('').select.fieldSelector).toBe('metadata.name=a');
    expect(parse('fieldSelector=metadata.name%3Da').select.fieldSelector).toBe('metadata.name=a');
    expect(refusal(() => parse('fieldSelector=metadata.name%3Db')).message).toBe(
      "fieldSelector metadata.name doesn't match requested name",
    );
  });

  it('by the old path are those of a list, unless the query names a watch', () => {
    expect(parseListOptions(query(''), { isWatch: true }).sendInitialEvents).toBeUndefined();
    expect(refusal(() => parseListOptions(query('sendInitialEvents=1'), { isWatch: true })).message).toBe(
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
    );
  });
});

describe('options of a write', () => {
  const parse = (text: string, type: 'apply' | 'other' = 'other') =>
    parseWriteOptions(query(text), 'PatchOptions', type);

  it('has defaults', () => {
    expect(parse('')).toEqual({ dryRun: false, fieldManager: '', fieldValidation: 'Warn', force: false });
    expect(parse('dryRun=All&fieldManager=me&fieldValidation=Strict&force=1', 'apply')).toEqual({
      dryRun: true,
      fieldManager: 'me',
      fieldValidation: 'Strict',
      force: true,
      intent: { fieldManager: 'me', fieldValidation: 'Strict' },
    });
  });

  it.each<[string, 'apply' | 'other', string]>([
    ['dryRun=Some', 'other', 'dryRun: Unsupported value: ["Some"]: supported values: "All"'],
    ['dryRun=', 'other', 'dryRun: Unsupported value: [""]: supported values: "All"'],
    [
      'fieldValidation=X',
      'other',
      'fieldValidation: Unsupported value: "X": supported values: "", "Ignore", "Strict", "Warn"',
    ],
    ['force=false', 'other', 'force: Forbidden: may not be specified for non-apply patch'],
    ['', 'apply', 'fieldManager: Required value: is required for apply patch'],
    [`fieldManager=${'m'.repeat(129)}`, 'other', 'fieldManager: Too long: may not be more than 128 bytes'],
    ['fieldManager=a%0Ab', 'other', 'fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)'],
  ])('%s (%s) is refused', (text, type, message) => {
    expect(refusal(() => parse(text, type))).toEqual({
      code: 422,
      message: `PatchOptions.meta.k8s.io "" is invalid: ${message}`,
    });
  });

  it('names the manager after the client', () => {
    expect(managerOrUserAgent('', 'kubectl/v1.32 (linux)')).toBe('kubectl');
    expect(managerOrUserAgent('me', 'kubectl/v1')).toBe('me');
    expect(managerOrUserAgent('', undefined)).toBe('unknown');
    expect(managerOrUserAgent('', `${'é'.repeat(100)}/1`)).toBe('é'.repeat(64));
  });
});

describe('options of a delete', () => {
  const invalid = 'DeleteOptions.meta.k8s.io "" is invalid: ';
  const gates = { allowsUnsafeDeletion: true };
  it('come from the query or the body', () => {
    const text = 'gracePeriodSeconds=5&propagationPolicy=Orphan&dryRun=All';
    const expected = { request: { gracePeriodSeconds: 5, propagationPolicy: 'Orphan' }, dryRun: true };
    expect(deleteOptionsFromQuery(query(text), gates)).toEqual(expected);
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'apps/v1',
      gracePeriodSeconds: 5,
      propagationPolicy: 'Orphan',
      dryRun: ['All'],
    };
    expect(runWhole(deleteOptionsFromBody(body, gates))).toEqual(expected);
    expect(runWhole(deleteOptionsFromBody(null, gates))).toEqual({ request: {}, dryRun: false });
    expect(deleteOptionsFromQuery(query('uid=u&resourceVersion=3'), gates).request).toEqual({
      preconditions: { uid: 'u', resourceVersion: '3' },
    });
    expect(
      runWhole(deleteOptionsFromBody({ preconditions: { uid: 'u', resourceVersion: '3' } }, gates)).request,
    ).toEqual({
      preconditions: { uid: 'u', resourceVersion: '3' },
    });
  });

  it.each([
    [
      { propagationPolicy: 'X' },
      422,
      `${invalid}propagationPolicy: Unsupported value: "X": supported values: "Foreground", "Background", "Orphan", "nil"`,
    ],
    [
      { propagationPolicy: 'Orphan', orphanDependents: true },
      422,
      `${invalid}propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set`,
    ],
    [
      { kind: 'ConfigMap', apiVersion: 'v1' },
      400,
      'no kind "ConfigMap" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      { gracePeriodSeconds: 'x' },
      400,
      'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    ],
    [
      { dryRun: 'All' },
      400,
      'json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string',
    ],
    [
      { ignoreStoreReadErrorWithClusterBreakingPotential: true, gracePeriodSeconds: 0 },
      422,
      `${invalid}ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: cannot be set together with .gracePeriodSeconds`,
    ],
  ])('%j is refused', (body, code, message) => {
    expect(refusal(() => runWhole(deleteOptionsFromBody(body, gates)))).toEqual({ code, message });
  });
});

describe('the option to delete what cannot be read', () => {
  const closed = { allowsUnsafeDeletion: false };
  it('is not looked at while its gate is closed', () => {
    const body = { ignoreStoreReadErrorWithClusterBreakingPotential: true, gracePeriodSeconds: 0 };
    expect(runWhole(deleteOptionsFromBody(body, closed)).request).toEqual({ gracePeriodSeconds: 0 });
    const text = 'ignoreStoreReadErrorWithClusterBreakingPotential=true';
    expect(deleteOptionsFromQuery(query(text), closed).request).toEqual({});
  });
});

describe('WarningRecorder', () => {
  it('sends equal texts once, quotes them and leaves out those with control characters', () => {
    const warnings = new WarningRecorder();
    for (const text of ['unknown field "a"', 'unknown field "a"', 'b\\c d', '', 'e\nf', 'g\th']) warnings.add(text);
    expect(warnings.headers()).toEqual(['299 - "unknown field \\"a\\""', '299 - "b\\\\c d"']);
  });

  it('cuts them when there are too many', () => {
    const warnings = new WarningRecorder();
    for (let i = 0; i < 30; i++) warnings.add(`${i} ${'x'.repeat(300)}`);
    const headers = warnings.headers();
    expect(headers).toHaveLength(16);
    expect(headers[0]).toBe(`299 - "0 ${'x'.repeat(254)}"`);
  });
});
