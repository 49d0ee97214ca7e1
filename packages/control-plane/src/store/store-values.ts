// ValueReader: what `kapstan store check` asks of each stored value: whether a server could read it. Encrypted ones it only
// counts, as the command has no keys. Used by store-command.ts.

import type { Revision, UnstructuredObject } from '@kapstan/api';
import { storageCodec } from '@kapstan/apiserver';
import { builtinResources, kubernetesTypes } from '@kapstan/kubernetes';
import { type Codec, jsonCodec, normalizePrefix } from '@kapstan/storage';

const encryptedMark = Buffer.from('k8s:enc:');

export class ValueReader {
  /** Values that were not looked into. */
  encrypted = 0;
  readonly #prefix: string;
  /** By what their keys begin with, below the prefix. */
  readonly #codecs: ReadonlyMap<string, Codec<UnstructuredObject>>;
  readonly #custom: Codec<UnstructuredObject> = jsonCodec();

  /** `keyPrefix`: as of --etcd-prefix. */
  constructor(keyPrefix: string) {
    this.#prefix = normalizePrefix(keyPrefix);
    this.#codecs = new Map(
      builtinResources().map(({ storagePrefix, storageVersion, kind }) => [
        storagePrefix,
        storageCodec('application/json', { ...storageVersion, kind }, { types: kubernetesTypes }),
      ]),
    );
  }

  /** Throws when it can be read by nobody. What is not below the prefix is somebody else's. */
  read(key: string, value: Uint8Array): void {
    if (!key.startsWith(this.#prefix)) return;
    if (encryptedMark.compare(value, 0, encryptedMark.length) === 0) this.encrypted += 1;
    else this.#codecOf(`/${key.slice(this.#prefix.length)}`).decode(value, 1 as Revision);
  }

  /** The longest prefix decides: "/services/specs" is not "/services". What has none is of a custom resource, always JSON. */
  #codecOf(path: string): Codec<UnstructuredObject> {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const codec = this.#codecs.get(path.slice(0, end));
      if (codec !== undefined) return codec;
    }
    return this.#custom;
  }
}
