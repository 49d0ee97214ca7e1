// The library of URLs.
import type { Library } from '../environment/library.ts';
import { type CelType, structType } from '../types/cel-type.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  memberOverload,
  oneOverload,
} from '../types/function-declaration.ts';
import { CelMap } from '../values/cel-map.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import {
  escapedPath,
  formatUrl,
  type GoUrl,
  hostnameOf,
  isRequestUri,
  parseRequestUri,
  portOf,
  queryValues,
} from './go-url.ts';

const urlType = structType('kubernetes.URL');

/** A value of the type `kubernetes.URL`. */
export class CelUrl extends CelObject {
  readonly type: CelType = urlType;
  readonly url: GoUrl;

  constructor(url: GoUrl) {
    super();
    this.url = url;
  }

  override equals(other: unknown): boolean | CelFailure {
    return other instanceof CelUrl ? formatUrl(this.url) === formatUrl(other.url) : overloadFailure(other);
  }

  override get nativeType(): string {
    return '*url.URL';
  }

  override toString(): string {
    return formatUrl(this.url);
  }
}

function url(text: string): unknown {
  const parsed = parseRequestUri(text);
  if (!isFailure(parsed)) return new CelUrl(parsed);
  return new CelFailure(`URL parse error during conversion from string: ${parsed.message}`);
}

function query(url: GoUrl): CelMap {
  const map = new CelMap();
  for (const [name, values] of queryValues(url)) map.set(name, values);
  return map;
}

function accessor(id: string, read: (url: GoUrl) => unknown, result = 'string'): FunctionDeclaration {
  const name = id.replace(/_\w/g, (mark) => mark.charAt(1).toUpperCase()).replace('urlG', 'g');
  return oneOverload(
    name,
    memberOverload(id, `kubernetes.URL -> ${result}`, (value: CelUrl) => read(value.url)),
  );
}

export const urlsLibrary: Library = {
  name: 'kubernetes.urls',
  functions: [
    oneOverload('url', globalOverload('string_to_url', 'string -> kubernetes.URL', url)),
    accessor('url_get_scheme', ({ scheme }) => scheme),
    accessor('url_get_host', ({ host }) => host),
    accessor('url_get_hostname', hostnameOf),
    accessor('url_get_port', portOf),
    accessor('url_get_escaped_path', escapedPath),
    accessor('url_get_query', query, 'map(string, list(string))'),
    oneOverload('isURL', globalOverload('is_url_string', 'string -> bool', isRequestUri)),
  ],
};
