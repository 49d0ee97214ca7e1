// The variables "claims" and "user" of expressions. Their names may be written with escapes (`a__dot__b`), and all numbers of claims are
// doubles. A claim is converted when an expression first reads it. Source: oidc.go (newClaimsValue, unescapeWrapper), apiserver
// pkg/cel/lazy.

import { CelList, CelMapping, doubleValue, unescapeName } from '@kapstan/cel';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import { type Claims, numberOf } from '../token-claims.ts';

/** A JSON value as an expression sees it. */
function jsonValue(json: unknown): unknown {
  const number = numberOf(json);
  if (number !== undefined) return doubleValue(number);
  if (Array.isArray(json)) return new ClaimList(json);
  return typeof json === 'object' && json !== null ? new ClaimMap(json as Claims) : json;
}

class ClaimList extends CelList {
  readonly #items: readonly unknown[];
  readonly size: number;

  constructor(items: readonly unknown[]) {
    super();
    this.#items = items;
    this.size = items.length;
  }

  at(index: number): unknown {
    return jsonValue(this.#items[index]);
  }

  toArray(): readonly unknown[] {
    return this.#items.map(jsonValue);
  }
}

/** An object inside a claim. A name that is not an escape is looked up unchanged. */
class ClaimMap extends CelMapping {
  readonly #members: Claims;
  #size: number | undefined;

  constructor(members: Claims) {
    super();
    this.#members = members;
  }

  get size(): number {
    this.#size ??= Object.keys(this.#members).length;
    return this.#size;
  }

  find(key: unknown): unknown {
    if (typeof key !== 'string') return undefined;
    return memberOf(this.#members, unescapeName(key) ?? key);
  }

  *entries(): IterableIterator<{ key: unknown; value: unknown }> {
    for (const [key, value] of Object.entries(this.#members)) yield { key, value: jsonValue(value) };
  }
}

/** All claims, or the members of a user. A name with an unknown escape does not exist, and a walk sees the values. */
class NamedValues extends CelMapping {
  readonly #members: Claims;
  #size: number | undefined;
  /** Values that have been requested, so that each claim is converted once. */
  readonly #known = new Map<string, unknown>();

  constructor(members: Claims) {
    super();
    this.#members = members;
  }

  get size(): number {
    this.#size ??= Object.keys(this.#members).length;
    return this.#size;
  }

  find(key: unknown): unknown {
    const name = typeof key === 'string' ? unescapeName(key) : undefined;
    if (name === undefined) return undefined;
    if (this.#known.has(name)) return this.#known.get(name);
    const value = memberOf(this.#members, name);
    this.#known.set(name, value);
    return value;
  }

  *entries(): IterableIterator<{ key: unknown; value: unknown }> {
    for (const name of Object.keys(this.#members)) {
      const value = this.find(name);
      yield { key: value, value };
    }
  }

  override equals(other: unknown): boolean {
    return other === this;
  }
}

function memberOf(members: Claims, name: string): unknown {
  return Object.hasOwn(members, name) ? jsonValue(members[name]) : undefined;
}

export function claimsValue(claims: Claims): unknown {
  return new NamedValues(claims);
}

export function userValue({ name, uid = '', groups, extra = {} }: UserInfo): unknown {
  return new NamedValues({ username: name, uid, groups, extra });
}
