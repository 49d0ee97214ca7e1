// The headers in which a front proxy names the user, and the proxies that are trusted. Read by request-header.ts, which
// turns them into a user, and by the proxy of aggregated API servers, which removes them from clients' requests.
// Source: apiserver authentication/request/headerrequest.
import type { ClientAuthorities } from './client-verification.ts';

/** Names of the headers in which a proxy in front of this server names the user, and the proxies that may do so. */
export interface RequestHeaderOptions {
  /** Certificates of the authorities that sign certificates of front proxies, in PEM. */
  readonly clientCa: ClientAuthorities;
  /** Common names of front proxies. Empty = every certificate of the authorities. Default empty. */
  readonly allowedNames?: readonly string[] | undefined;
  /** The first that is set counts. Default X-Remote-User. */
  readonly usernameHeaders?: readonly string[] | undefined;
  /** The first that is set counts. Default X-Remote-Uid. */
  readonly uidHeaders?: readonly string[] | undefined;
  /** All of these headers count. Default X-Remote-Group. */
  readonly groupHeaders?: readonly string[] | undefined;
  /** Default X-Remote-Extra-. */
  readonly extraHeaderPrefixes?: readonly string[] | undefined;
}

/** Headers of a request that came from a front proxy. */
export interface ForwardedHeaders {
  /** Names and values alternately, as they were sent. */
  readonly rawHeaders: readonly string[];
}

/** Names of the headers that carry an identity. */
export class RequestHeaderNames {
  readonly usernames: readonly string[];
  readonly uids: readonly string[];
  readonly groups: readonly string[];
  readonly extraPrefixes: readonly string[];

  constructor(options: Omit<RequestHeaderOptions, 'clientCa' | 'allowedNames'> = {}) {
    this.usernames = lowered(options.usernameHeaders ?? ['X-Remote-User']);
    this.uids = lowered(options.uidHeaders ?? ['X-Remote-Uid']);
    this.groups = lowered(options.groupHeaders ?? ['X-Remote-Group']);
    this.extraPrefixes = lowered(options.extraHeaderPrefixes ?? ['X-Remote-Extra-']);
  }

  /** True for a header that carries an identity. `name` is in lower case. */
  has(name: string): boolean {
    const isNamed = [this.usernames, this.uids, this.groups].some((names) => names.includes(name));
    return isNamed || this.extraPrefixes.some((prefix) => name.startsWith(prefix));
  }
}

function lowered(names: readonly string[]): readonly string[] {
  return names.map((name) => name.trim().toLowerCase());
}
