// Keys of one resource type: normalised prefixes and the checks that keep a request inside them.
// Source: apiserver storage/etcd3/store.go (prepareKey).
import type { KeyRange } from './engine.ts';
import { rangeOf } from './key-range.ts';
import { StorageError } from './storage-error.ts';

export interface KeySpaceOptions {
  /** What all keys of the store begin with. Slashes are normalised: "custom/prefix" is "/custom/prefix/". Default "/registry". */
  readonly keyPrefix?: string;
  /** What the keys of the resource go on with: "/pods", "/services/specs". Must start with "/". */
  readonly resourcePrefix: string;
}

/** The keys of one resource type. Throws TypeError for a resource prefix that would reach other resources. */
export class KeySpace {
  /** Begins and ends with a slash: "/registry/pods/". */
  readonly prefix: string;
  readonly range: KeyRange;

  constructor(options: KeySpaceOptions) {
    const { keyPrefix = '/registry', resourcePrefix } = options;
    if (resourcePrefix === '') throw new TypeError('resourcePrefix cannot be empty');
    if (resourcePrefix === '/') throw new TypeError('resourcePrefix cannot be /');
    if (!resourcePrefix.startsWith('/')) throw new TypeError('resourcePrefix needs to start from /');
    this.prefix = normalizePrefix(`${keyPrefix}/${resourcePrefix}`);
    this.range = rangeOf(this.prefix);
  }

  /** The key itself when it may name an object of this resource. Throws `InvalidKey`. */
  single(key: string): string {
    rejectPathSegments(key);
    if (!key.startsWith(this.prefix)) {
      throw invalidKey(
        key,
        `invalid key: ${JSON.stringify(key)} lacks resource prefix: ${JSON.stringify(this.prefix)}`,
      );
    }
    return key;
  }

  /** The key as a prefix that ends on a path boundary. Throws `InvalidKey`. */
  recursive(key: string): string {
    rejectPathSegments(key);
    return this.single(key.endsWith('/') ? key : `${key}/`);
  }
}

/**
 * One leading and one trailing slash, none doubled, "." and ".." resolved: "custom//prefix" becomes "/custom/prefix/", as
 * kube-apiserver has it with path.Join("/", prefix).
 */
export function normalizePrefix(prefix: string): string {
  const segments: string[] = [];
  for (const segment of prefix.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return segments.length === 0 ? '/' : `/${segments.join('/')}/`;
}

function rejectPathSegments(key: string): void {
  if (key === '' || key === '/') throw invalidKey(key, `empty key: ${JSON.stringify(key)}`);
  for (const segment of key.split('/')) {
    if (segment === '.' || segment === '..') throw invalidKey(key, `invalid key: ${JSON.stringify(key)}`);
  }
}

function invalidKey(key: string, message: string): StorageError {
  return new StorageError({ code: 'InvalidKey', key, message });
}
