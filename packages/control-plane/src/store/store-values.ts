// ValueReader checks for `kapstan store check` that a server could read each stored value. Encrypted values are only counted, because
// the command has no keys. Used by store-command.ts.

import type { Revision, UnstructuredObject } from '@kapstan/api';
import { storageCodec } from '@kapstan/apiserver';
import { builtinResources, kubernetesTypes } from '@kapstan/kubernetes';
import { type Codec, jsonCodec, normalizePrefix } from '@kapstan/storage';

const encryptedMark = Buffer.from('k8s:enc:');

export class ValueReader {
  /** Number of encrypted values, which were not checked. */
  encrypted = 0;
  readonly #prefix: string;
  /** Codecs by key prefix, without the common prefix. */
  readonly #codecs: ReadonlyMap<string, Codec<UnstructuredObject>>;
  readonly #custom: Codec<UnstructuredObject> = jsonCodec();

  /** `keyPrefix` is the value of --etcd-prefix. */
  constructor(keyPrefix: string) {
    this.#prefix = normalizePrefix(keyPrefix);
    this.#codecs = new Map(
      builtinResources().map(({ storagePrefix, storageVersion, kind }) => [
        storagePrefix,
        storageCodec('application/json', { ...storageVersion, kind }, { types: kubernetesTypes }),
      ]),
    );
  }

  /** Throws when no server could read the value. Ignores keys outside the prefix, which belong to others. */
  read(key: string, value: Uint8Array): void {
    if (!key.startsWith(this.#prefix)) return;
    if (encryptedMark.compare(value, 0, encryptedMark.length) === 0) this.encrypted += 1;
    else this.#codecOf(`/${key.slice(this.#prefix.length)}`).decode(value, 1 as Revision);
  }

  /**
   * Uses the longest matching prefix: "/services/specs" is not "/services". Values without one are custom resources, which are always JSON.
   */
  #codecOf(path: string): Codec<UnstructuredObject> {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const codec = this.#codecs.get(path.slice(0, end));
      if (codec !== undefined) return codec;
    }
    return this.#custom;
  }
}
