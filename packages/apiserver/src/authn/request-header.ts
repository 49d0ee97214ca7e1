// Takes the user from headers that a front proxy sets, such as a main API server in front of an aggregated one. The
// proxy proves itself by a client certificate, see client-certificate.ts. Source: apiserver
// authentication/request/headerrequest.
import type { Authenticator } from './authenticator.ts';
import type { RequestHeaderNames } from './request-header-names.ts';

export function requestHeaderAuthenticator(names: RequestHeaderNames): Authenticator {
  return {
    authenticate: ({ forwarded }) => {
      if (forwarded === undefined) return 'none';
      const headers = pairsOf(forwarded.rawHeaders);
      const first = (wanted: readonly string[]): string =>
        wanted.map((name) => firstOf(headers, name)).find((v) => v !== '') ?? '';
      const name = first(names.usernames);
      if (name === '') return 'none';
      const uid = first(names.uids);
      const groups = names.groups.flatMap((wanted) =>
        headers.filter(([header, value]) => header === wanted && value !== '').map(([, value]) => value),
      );
      const extra = extraOf(headers, names.extraPrefixes);
      return { name, ...(uid !== '' && { uid }), groups, ...(Object.keys(extra).length > 0 && { extra }) };
    },
  };
}

type Header = readonly [name: string, value: string];

/** Go's servers take the bytes of a value as UTF-8, node:http each byte as a character. */
function pairsOf(raw: readonly string[]): readonly Header[] {
  const pairs: Header[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    pairs.push([(raw[i] ?? '').toLowerCase(), Buffer.from(raw[i + 1] ?? '', 'latin1').toString('utf8')]);
  }
  return pairs;
}

/** Only the first of several headers of the name counts, even when it is empty. */
function firstOf(headers: readonly Header[], name: string): string {
  return headers.find(([header]) => header === name)?.[1] ?? '';
}

function extraOf(headers: readonly Header[], prefixes: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes) {
    for (const [name, value] of headers) {
      if (!name.startsWith(prefix)) continue;
      const key = unescapeKey(name.slice(prefix.length));
      extra.set(key, [...(extra.get(key) ?? []), value]);
    }
  }
  return Object.fromEntries(extra);
}

/** A key that cannot be unescaped is used unchanged. */
function unescapeKey(key: string): string {
  if (/%(?![0-9a-f]{2})/.test(key)) return key;
  const bytes = key.replace(/%([0-9a-f]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
