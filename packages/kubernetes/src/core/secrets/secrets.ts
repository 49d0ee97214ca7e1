// Secrets. Source: pkg/registry/core/secret, pkg/apis/core/validation ValidateSecret, ValidateSecretUpdate.

import type { DeepReadonly } from '@kapstan/api';
import {
  getOwn,
  knownSize,
  membersPerSlice,
  namesInSlices,
  rememberSize,
  runWhole,
  type SlicedWork,
  setOwn,
} from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { Secret } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { configKeyErrors } from '../../validation/value-rules.ts';
import { maxDataBytes } from '../configmaps/config-maps.ts';
import { keyPairFault } from './tls-key-pair.ts';

const accountAnnotation = 'kubernetes.io/service-account.name';

export const secrets: BuiltinKind<Secret> = {
  id: 'v1/secrets',
  strategy: { updateMetadata: 'both' },
  setDefaults: (object) => runWhole(setDefaults(object)),
  setDefaultsInSlices: setDefaults,
  prepareForUpdate: (next) => runWhole(mergeStringData(next)),
  validate: (root, object) => {
    root.child('data').eachKey(object.data, (key, _value, place) => place.invalidAll(key, configKeyErrors(key)));
    const bytes = Object.values(object.data ?? {}).reduce((sum, value) => sum + Buffer.byteLength(value, 'base64'), 0);
    if (bytes > maxDataBytes) root.child('data').tooLong(maxDataBytes);
    validateType(root, object);
  },
  validateChange: (root, next, old) => {
    root.child('type').immutable(next.type ?? '', next.type === old.type);
    if (old.immutable !== true) return;
    const refusal = 'field is immutable when `immutable` is set';
    if (next.immutable !== true) root.child('immutable').forbidden(refusal);
    if (!jsonEqual(next.data, old.data)) root.child('data').forbidden(refusal);
  },
  warnings: tlsWarnings,
  fields: ({ type }) => ({ type: type ?? '' }),
};

function tlsWarnings({ type, data = {} }: DeepReadonly<Secret>): readonly string[] {
  if (type !== 'kubernetes.io/tls') return [];
  const text = (key: string): string => {
    const value = getOwn(data, key);
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('latin1') : '';
  };
  const fault = keyPairFault(text('tls.crt'), text('tls.key'));
  return fault === undefined ? [] : [fault];
}

function* setDefaults(object: Secret): SlicedWork<void> {
  yield* mergeStringData(object);
  object.type ||= 'Opaque';
}

/** Write-only texts override the data. Source: Convert_v1_Secret_To_core_Secret. */
function* mergeStringData(object: Secret): SlicedWork<void> {
  const { stringData = {}, data = {} } = object;
  delete object.stringData;
  const names = yield* namesInSlices(stringData);
  if (names.length === 0) return;
  for (const [index, name] of names.entries()) {
    setOwn(data, name, Buffer.from(stringData[name] ?? '').toString('base64'));
    if (index % membersPerSlice === membersPerSlice - 1) yield;
  }
  rememberSize(data, Math.max(names.length, knownSize(data)));
  object.data = data;
}

function validateType(root: Field, secret: DeepReadonly<Secret>): void {
  const has = (key: string): boolean => Object.hasOwn(secret.data ?? {}, key);
  const data = root.child('data');
  switch (secret.type) {
    case 'kubernetes.io/service-account-token':
      if (!secret.metadata?.annotations?.[accountAnnotation])
        root.child('metadata', 'annotations').key(accountAnnotation).required();
      return;
    case 'kubernetes.io/dockercfg':
      return validateJsonKey(data, '.dockercfg', secret);
    case 'kubernetes.io/dockerconfigjson':
      return validateJsonKey(data, '.dockerconfigjson', secret);
    case 'kubernetes.io/basic-auth':
      if (has('username') || has('password')) return;
      data.key('username').required();
      return data.key('password').required();
    case 'kubernetes.io/ssh-auth':
      if (!has('ssh-privatekey') || secret.data?.['ssh-privatekey'] === '') data.key('ssh-privatekey').required();
      return;
    case 'kubernetes.io/tls':
      for (const key of ['tls.crt', 'tls.key']) if (!has(key)) data.key(key).required();
      return;
    default:
  }
}

function validateJsonKey(data: Field, key: string, secret: DeepReadonly<Secret>): void {
  const value = Object.hasOwn(secret.data ?? {}, key) ? secret.data?.[key] : undefined;
  if (value === undefined) return data.key(key).required();
  const text = Buffer.from(value, 'base64').toString('utf8');
  const error = jsonErrorOf(text);
  if (error !== undefined) data.key(key).invalid('<secret contents redacted>', error);
}

/** Returns encoding/json's error for simple cases. */
function jsonErrorOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value)
      ? undefined
      : 'json: cannot unmarshal into Go value of type map[string]interface {}';
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const first = text.trimStart()[0];
    if (first === undefined) return 'unexpected end of JSON input';
    if (!/[[{"\-0-9tfn]/.test(first)) return `invalid character '${first}' looking for beginning of value`;
    return 'unexpected end of JSON input';
  }
}
