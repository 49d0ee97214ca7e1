// Config maps. Source: pkg/apis/core/validation ValidateConfigMap, ValidateConfigMapUpdate.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ConfigMap } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { configKeyErrors } from '../../validation/value-rules.ts';

/** Maximum number of bytes of all values of a config map or secret. Source: MaxSecretSize. */
export const maxDataBytes: number = 1024 * 1024;

export const configMaps: BuiltinKind<ConfigMap> = {
  id: 'v1/configmaps',
  strategy: { updateMetadata: 'both' },
  validate: (root, object) => {
    root.child('data').eachKey(object.data, (key, _value, place) => {
      place.invalidAll(key, configKeyErrors(key));
      if (Object.hasOwn(object.binaryData ?? {}, key)) place.invalid(key, 'duplicate of key present in binaryData');
    });
    root
      .child('binaryData')
      .eachKey(object.binaryData, (key, _value, place) => place.invalidAll(key, configKeyErrors(key)));
    const texts = Object.values(object.data ?? {}).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
    const bytes = Object.values(object.binaryData ?? {}).reduce(
      (sum, value) => sum + Buffer.byteLength(value, 'base64'),
      0,
    );
    // The path without a name prints as "[]".
    if (texts + bytes > maxDataBytes) root.child('[]').tooLong(maxDataBytes);
  },
  validateChange: (root, next, old) => validateImmutable(root, next, old),
};

/** Once `immutable` is set, neither it nor the data may change. */
function validateImmutable(root: Field, next: DeepReadonly<ConfigMap>, old: DeepReadonly<ConfigMap>): void {
  if (old.immutable !== true) return;
  const refusal = 'field is immutable when `immutable` is set';
  if (next.immutable !== true) root.child('immutable').forbidden(refusal);
  for (const name of ['data', 'binaryData'] as const)
    if (!jsonEqual(next[name], old[name])) root.child(name).forbidden(refusal);
}
