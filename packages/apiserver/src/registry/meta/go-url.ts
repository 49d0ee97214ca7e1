// Parses URLs as Go's net/url does, which accepts more texts than the URL class, with its error texts. Used by validation of webhooks and
// of issuers of tokens.

export interface UrlParts {
  readonly scheme: string;
  readonly user: string | undefined;
  readonly host: string;
  readonly query: string;
  readonly fragment: string;
}

/** Parses a URL as leniently as Go's net/url; returns the text of the error for an invalid one. */
export function parseGoUrl(text: string): UrlParts | string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\x00-\x1f\x7f]/.test(text)) return 'net/url: invalid control character in URL';
  const [beforeFragment, fragment] = cut(text, '#');
  if (beforeFragment.startsWith(':')) return 'missing protocol scheme';
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(beforeFragment)?.[1] ?? '';
  const [rest, query] = cut(scheme === '' ? beforeFragment : beforeFragment.slice(scheme.length + 1), '?');
  if (scheme === '' && !rest.startsWith('/') && cut(rest, '/')[0].includes(':'))
    return 'first path segment in URL cannot contain colon';
  const authority = rest.startsWith('//') ? cut(rest.slice(2), '/')[0] : '';
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  if (host.startsWith('[') && !host.includes(']')) return "missing ']' in host";
  if (host.includes(' ')) return 'invalid character " " in host name';
  const port = /:[^\]:]*$/.exec(host)?.[0] ?? '';
  const badEscape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(rest)?.[0];
  if (badEscape !== undefined) return `invalid URL escape ${JSON.stringify(badEscape)}`;
  if (!/^(:\d*)?$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`;
  return { scheme: scheme.toLowerCase(), user: at < 0 ? undefined : authority.slice(0, at), host, query, fragment };
}

function cut(text: string, separator: string): readonly [before: string, after: string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}
