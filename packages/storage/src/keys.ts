// The keys of one resource: normalised prefixes, and checks that keep a request inside them. Source: apiserver
// storage/etcd3/store.go (prepareKey).
import type { KeyRange } from './engine.ts';
import { StorageError } from './errors/storage-error.ts';
import { rangeOf } from './key-range.ts';

export interface KeySpaceOptions {
  /**
   * Prefix of all keys in the store. Slashes are normalised: "custom/prefix" is "/custom/prefix/". Default "/registry".
   */
  readonly keyPrefix?: string | undefined;
  /** Prefix of this resource's keys below `keyPrefix`: "/pods", "/services/specs". Must start with "/". */
  readonly resourcePrefix: string;
}

/**
 * The keys of one resource. The constructor throws TypeError for a resource prefix that would reach other resources.
 */
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

  /** Returns the key when it may name an object of this resource. Throws `InvalidKey` otherwise. */
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

  /** Returns the key as a prefix that ends with a slash. Throws `InvalidKey`. */
  recursive(key: string): string {
    rejectPathSegments(key);
    return this.single(key.endsWith('/') ? key : `${key}/`);
  }
}

/**
 * Returns the prefix with one leading and one trailing slash, none doubled, "." and ".." resolved: "custom//prefix"
 * becomes "/custom/prefix/", as path.Join("/", prefix) makes it in kube-apiserver.
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
