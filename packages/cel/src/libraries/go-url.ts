// Parses URLs as Go's net/url does: it accepts the same texts, splits them in the same way, and has the same error
// texts.
import { goQuote } from '@kapstan/api/internal';
import { CelFailure } from '../values/failure.ts';
import { IpError, isIpv4, parseIp } from './ip-address.ts';

/** The parts of a URL as Go's net/url splits it. "" = the part is absent; of `user`, undefined. */
export interface GoUrl {
  readonly scheme: string;
  readonly opaque: string;
  /** User information as written, without the @. */
  readonly user: string | undefined;
  readonly host: string;
  /** The unescaped path. */
  readonly path: string;
  /** The path as written, if that is not its default form. */
  readonly rawPath: string;
  readonly omitHost: boolean;
  readonly forceQuery: boolean;
  readonly rawQuery: string;
  readonly fragment: string;
  readonly rawFragment: string;
}

class UrlError extends Error {}

const emptyUrl: GoUrl = {
  scheme: '',
  opaque: '',
  user: undefined,
  host: '',
  path: '',
  rawPath: '',
  omitHost: false,
  forceQuery: false,
  rawQuery: '',
  fragment: '',
  rawFragment: '',
};

/** Parses a URL that must be absolute or a path, as url() requires. The fragment is cut off afterwards. */
export function parseRequestUri(text: string): GoUrl | CelFailure {
  const required = attempt(text, () => split(text, true));
  const url = typeof required === 'string' ? required : parseUrl(text);
  return typeof url === 'string' ? new CelFailure(url) : url;
}

/** Parses a URL, which may be relative. Returns the text of the error for an invalid one. */
export function parseUrl(text: string): GoUrl | string {
  const [rest, fragment] = cut(text, '#');
  const url = attempt(rest, () => {
    const { url: read, escaped } = split(rest, false);
    const path = decodePart(escaped, 'path');
    return { ...read, path, rawPath: escaped === encodePart(path, 'path') ? '' : escaped };
  });
  return typeof url === 'string' || fragment === undefined ? url : attempt(text, () => withFragment(url, fragment));
}

function withFragment(url: GoUrl, fragment: string): GoUrl {
  const plain = decodePart(fragment, 'fragment');
  return { ...url, fragment: plain, rawFragment: fragment === encodePart(plain, 'fragment') ? '' : fragment };
}

/** True when url() would accept the text. */
export function isRequestUri(text: string): boolean {
  return typeof attempt(text, () => split(text, true)) !== 'string';
}

/** Returns what the function returns, or the text of the error that this text is no URL. */
function attempt<T extends object>(text: string, read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UrlError)) throw error;
    return `parse ${goQuote(text)}: ${error.message}`;
  }
}

function cut(text: string, mark: string): [before: string, after: string | undefined] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

interface SplitUrl {
  readonly url: GoUrl;
  /** The path as written. */
  readonly escaped: string;
}

/** Splits and checks a URL. Decoding its path would cost more than all of that. */
function split(rawUrl: string, viaRequest: boolean): SplitUrl {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (/[\x00-\x1f\x7f]/.test(rawUrl)) throw new UrlError('net/url: invalid control character in URL');
  if (rawUrl === '' && viaRequest) throw new UrlError('empty url');
  if (rawUrl === '*') return { url: emptyUrl, escaped: '*' };
  const [scheme, afterScheme] = readScheme(rawUrl);
  const { rest, rawQuery, forceQuery } = readQuery(afterScheme);
  const url = { ...emptyUrl, scheme: scheme.toLowerCase(), rawQuery, forceQuery };
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { url: { ...url, opaque: rest }, escaped: '' };
    if (viaRequest) throw new UrlError('invalid URI for request');
    const [segment] = cut(rest, '/');
    if (segment.includes(':')) throw new UrlError('first path segment in URL cannot contain colon');
  }
  return withAuthority(url, { rest, viaRequest, hasScheme: scheme !== '' });
}

function readQuery(text: string): { rest: string; rawQuery: string; forceQuery: boolean } {
  if (text.endsWith('?') && text.indexOf('?') === text.length - 1) {
    return { rest: text.slice(0, -1), rawQuery: '', forceQuery: true };
  }
  const [rest, rawQuery = ''] = cut(text, '?');
  return { rest, rawQuery, forceQuery: false };
}

function readScheme(text: string): [scheme: string, rest: string] {
  const match = /^([A-Za-z][A-Za-z0-9+\-.]*):/.exec(text);
  if (match !== null) return [match[1] ?? '', text.slice(match[0].length)];
  if (text.startsWith(':')) throw new UrlError('missing protocol scheme');
  return ['', text];
}

function withAuthority(url: GoUrl, parts: { rest: string; viaRequest: boolean; hasScheme: boolean }): SplitUrl {
  let { rest } = parts;
  let result = url;
  const isAuthority = (parts.hasScheme || (!parts.viaRequest && !rest.startsWith('///'))) && rest.startsWith('//');
  if (isAuthority) {
    const slash = rest.indexOf('/', 2);
    const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
    rest = slash < 0 ? '' : rest.slice(slash);
    result = { ...result, ...readAuthority(authority, url.scheme) };
  } else if (parts.hasScheme && rest.startsWith('/')) result = { ...result, omitHost: true };
  requireEscapes(rest, 'path');
  return { url: result, escaped: rest };
}

function readAuthority(authority: string, scheme: string): Pick<GoUrl, 'user' | 'host'> {
  const at = authority.lastIndexOf('@');
  const host = readHost(authority.slice(at + 1), scheme);
  if (at < 0) return { user: undefined, host };
  const user = authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user)) throw new UrlError('net/url: invalid userinfo');
  const [name, password] = cut(user, ':');
  decodePart(name, 'user');
  if (password !== undefined) decodePart(password, 'user');
  return { user, host };
}

/** A host of http has at most one colon; other schemes may list several hosts with ports. */
function readHost(host: string, scheme: string): string {
  const bracket = host.lastIndexOf('[');
  if (bracket > 0) throw new UrlError('invalid IP-literal');
  if (bracket === 0) return readBracketedHost(host);
  const colon = scheme === 'http' || scheme === 'https' ? host.indexOf(':') : host.lastIndexOf(':');
  if (colon >= 0) requirePort(host.slice(colon));
  return decodePart(host, 'host');
}

function readBracketedHost(host: string): string {
  const end = host.lastIndexOf(']');
  if (end < 0) throw new UrlError("missing ']' in host");
  const port = host.slice(end + 1);
  requirePort(port);
  const name = host.slice(1, end);
  const zone = name.indexOf('%25');
  const address =
    zone < 0
      ? decodePart(name, 'host')
      : decodePart(name.slice(0, zone), 'host') + decodePart(name.slice(zone), 'zone');
  requireIpv6(address);
  return `[${address}]${port}`;
}

function requireIpv6(text: string): void {
  try {
    if (!isIpv4(parseIp(text))) return;
  } catch (error) {
    if (!(error instanceof IpError)) throw error;
    throw new UrlError(`invalid host: ${error.message}`, { cause: error });
  }
  throw new UrlError('invalid IP-literal');
}

function requirePort(port: string): void {
  if (port === '' || /^:\d*$/.test(port)) return;
  throw new UrlError(`invalid port ${goQuote(port)} after host`);
}

type Part = 'path' | 'host' | 'zone' | 'user' | 'query' | 'fragment';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const wrongEscape = /%(?![0-9a-fA-F]{2}).{0,2}/su;
const wrongEscapeInHost = /%(?!25|[89a-fA-F][0-9a-fA-F]).{0,2}/su;

/** Decodes %xx. Throws for a malformed escape, and for characters that a host cannot have. */
function decodePart(text: string, part: Part): string {
  requireEscapes(text, part);
  if (part === 'host' || part === 'zone') requireHostCharacters(text);
  const spaced = part === 'query' ? text.replaceAll('+', ' ') : text;
  return spaced.includes('%') ? decodeEscapes(spaced) : spaced;
}

function requireEscapes(text: string, part: Part): void {
  const wrong = part === 'zone' ? wrongEscapeInZone(text) : wrongEscapeIn(text, part);
  if (wrong !== undefined) throw new UrlError(`invalid URL escape ${goQuote(wrong)}`);
}

function wrongEscapeIn(text: string, part: Part): string | undefined {
  return (part === 'host' ? wrongEscapeInHost : wrongEscape).exec(text)?.[0];
}

function wrongEscapeInZone(text: string): string | undefined {
  for (const [found] of text.matchAll(/%.{0,2}/gsu)) {
    if (!/^%[0-9a-fA-F]{2}$/.test(found) || !isZoneEscape(found)) return found;
  }
  return undefined;
}

function isZoneEscape(text: string): boolean {
  if (text === '%25' || text === '%20') return true;
  const char = String.fromCharCode(Number.parseInt(text.slice(1), 16));
  return isUnescapedInHost(char) || char.charCodeAt(0) >= 0x80;
}

const wrongInHost = /[^%\u0080-\u{10ffff}A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]/u;

function requireHostCharacters(text: string): void {
  const [char] = wrongInHost.exec(text) ?? [];
  if (char !== undefined) throw new UrlError(`invalid character ${goQuote(char)} in host name`);
}

function isUnescapedInHost(char: string): boolean {
  return /^[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]$/.test(char);
}

/** Works on bytes: a text may be a million escapes. */
function decodeEscapes(text: string): string {
  const bytes = encoder.encode(text);
  let count = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    const high = byte === percent ? hexDigit(bytes[i + 1]) : -1;
    const low = high < 0 ? -1 : hexDigit(bytes[i + 2]);
    if (low >= 0) i += 2;
    bytes[count++] = low < 0 ? byte : 16 * high + low;
  }
  return decoder.decode(bytes.subarray(0, count));
}

const percent = 0x25;
const hexDigits = encoder.encode('0123456789ABCDEF');

/** Returns -1 for a byte that is no hexadecimal digit. */
function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

const plainEverywhere = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=';
/** The characters that each part shows as they are. */
const plainIn = {
  path: plainBytes(`${plainEverywhere}@`),
  fragment: plainBytes(`${plainEverywhere}?@!()*`),
  host: plainBytes(`${plainEverywhere.replace('/', '')}!'()*[]<>"`),
};

function plainBytes(characters: string): Uint8Array {
  const plain = new Uint8Array(256);
  for (const byte of encoder.encode(characters)) plain[byte] = 1;
  return plain;
}

/** Encodes all bytes but those that the part shows. Half a surrogate pair becomes U+FFFD. */
function encodePart(text: string, part: keyof typeof plainIn): string {
  const plain = plainIn[part];
  const bytes = encoder.encode(text);
  const encoded = new Uint8Array(3 * bytes.length);
  let count = 0;
  for (const byte of bytes) {
    if (plain[byte] === 1) encoded[count++] = byte;
    else {
      encoded[count++] = percent;
      encoded[count++] = hexDigits[byte >> 4] ?? 0;
      encoded[count++] = hexDigits[byte & 15] ?? 0;
    }
  }
  return count === bytes.length ? text : decoder.decode(encoded.subarray(0, count));
}

/** Returns the path with escapes, unchanged if it was written in a valid form. */
export function escapedPath({ path, rawPath }: GoUrl): string {
  const isValid = rawPath !== '' && /^(?:[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]]|%[0-9a-fA-F]{2})*$/.test(rawPath);
  if (isValid) return rawPath;
  return path === '*' ? '*' : encodePart(path, 'path');
}

export function hostnameOf({ host }: GoUrl): string {
  const [name] = splitHostPort(host);
  return name;
}

export function portOf({ host }: GoUrl): string {
  const [, port] = splitHostPort(host);
  return port;
}

function splitHostPort(hostPort: string): [host: string, port: string] {
  const colon = hostPort.lastIndexOf(':');
  const hasPort = colon >= 0 && /^:\d*$/.test(hostPort.slice(colon));
  const host = hasPort ? hostPort.slice(0, colon) : hostPort;
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  return [bare, hasPort ? hostPort.slice(colon + 1) : ''];
}

/** Returns values by name. Parts with a semicolon or a bad escape are left out. */
export function queryValues({ rawQuery }: GoUrl): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const pair of rawQuery.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const [name, value = ''] = cut(pair, '=');
    const entry = unescapedPair(name, value);
    if (entry === undefined) continue;
    const list = values.get(entry[0]);
    if (list === undefined) values.set(entry[0], [entry[1]]);
    else list.push(entry[1]);
  }
  return values;
}

function unescapedPair(name: string, value: string): [string, string] | undefined {
  try {
    return [decodePart(name, 'query'), decodePart(value, 'query')];
  } catch (error) {
    if (error instanceof UrlError) return undefined;
    throw error;
  }
}

/** Returns the URL as text in Go's form. */
export function formatUrl(url: GoUrl): string {
  const scheme = url.scheme === '' ? '' : `${url.scheme}:`;
  if (url.opaque !== '') return `${scheme}${url.opaque}${formatTail(url)}`;
  const hasAuthority = url.scheme !== '' || url.host !== '' || url.user !== undefined;
  const isOmitted = url.omitHost && url.host === '' && url.user === undefined;
  const authority = hasAuthority && !isOmitted ? formatAuthority(url) : '';
  const path = escapedPath(url);
  const slash = path !== '' && !path.startsWith('/') && url.host !== '' ? '/' : '';
  return `${scheme}${authority}${slash}${path}${formatTail(url)}`;
}

function formatAuthority({ host, path, user }: GoUrl): string {
  const slashes = host !== '' || path !== '' || user !== undefined ? '//' : '';
  const shown = encodePart(host, 'host');
  return `${slashes}${user === undefined ? '' : `${user}@`}${shown}`;
}

function formatTail({ forceQuery, rawQuery, fragment, rawFragment }: GoUrl): string {
  const query = forceQuery || rawQuery !== '' ? `?${rawQuery}` : '';
  return fragment === '' ? query : `${query}#${rawFragment === '' ? encodePart(fragment, 'fragment') : rawFragment}`;
}
