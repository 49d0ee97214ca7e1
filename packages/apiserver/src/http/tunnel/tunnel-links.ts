// Rewrites links in a proxied peer's answer so that they point to this server: in Location headers and in HTML. Used by
// tunnel-forward.ts. Source: apimachinery pkg/util/proxy (Transport.rewriteURL, rewriteHTML).

export interface LinkMenderOptions {
  /** The path before the peer's own path, for example "/api/v1/namespaces/ns/pods/p/proxy". */
  readonly prefix: string;
  /** Host names of the peer: the requested one, and its own. */
  readonly hosts: readonly [asked: string, own: string];
}

/** Puts the prefix before an absolute path at the peer; returns any other link as it is. */
export type LinkMender = (link: string) => string;

const linkParts = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/is;

export function linkMender({ prefix, hosts: [asked, own] }: LinkMenderOptions): LinkMender {
  return (link) => {
    const [, scheme, host = '', path = '', query = '', fragment = ''] = linkParts.exec(link) ?? [];
    const isElsewhere = (host !== '' && host !== asked && host !== own) || (host === '' && scheme !== undefined);
    if (isElsewhere || !path.startsWith('/')) return link;
    // Links with the name that the client asked for work for the client; the peer's own name works for this server
    // only.
    const origin = host !== '' && host === asked ? `${scheme === undefined ? '' : `${scheme}:`}//${host}` : '';
    return `${origin}${path.startsWith(prefix) ? path : `${prefix}${path}`}${query}${fragment}`;
  };
}

/** Attributes that hold one link, by element. */
const linkAttributes: ReadonlyMap<string, readonly string[]> = new Map([
  ['a', ['href']],
  ['applet', ['codebase']],
  ['area', ['href']],
  ['audio', ['src']],
  ['base', ['href']],
  ['blockquote', ['cite']],
  ['body', ['background']],
  ['button', ['formaction']],
  ['command', ['icon']],
  ['del', ['cite']],
  ['embed', ['src']],
  ['form', ['action']],
  ['frame', ['longdesc', 'src']],
  ['head', ['profile']],
  ['html', ['manifest']],
  ['iframe', ['longdesc', 'src']],
  ['img', ['longdesc', 'src', 'usemap']],
  ['input', ['src', 'usemap', 'formaction']],
  ['ins', ['cite']],
  ['link', ['href']],
  ['object', ['classid', 'codebase', 'data', 'usemap']],
  ['q', ['cite']],
  ['script', ['src']],
  ['source', ['src']],
  ['video', ['poster', 'src']],
]);

/** Elements whose content is text up to their end tag. */
const textElements: ReadonlySet<string> = new Set([
  'iframe',
  'noembed',
  'noframes',
  'noscript',
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
]);

const comment = /<!--[\s\S]*?(?:-->|$)|<[!?/][^>]*(?:>|$)/y;
const tagName = /<([a-z][^\s/>]*)/iy;
const attribute = /([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g;

/** Returns a page with its links rewritten. Only start tags are written again, as Go's tokenizer writes them. */
export function rewriteHtml(html: string, mend: LinkMender): string {
  const pieces: string[] = [];
  let at = 0;
  while (at < html.length) {
    const next = html.indexOf('<', at);
    if (next < 0) break;
    pieces.push(html.slice(at, next));
    at = next;
    const name = matchAt(tagName, html, at)?.[1];
    const [piece, end] = name === undefined ? passed(html, at) : tag(html, { at, name, mend });
    pieces.push(piece);
    at = end;
  }
  pieces.push(html.slice(at));
  return pieces.join('');
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

/** Returns a comment, an end tag or a lone "<" as it is, and where it ends. */
function passed(html: string, at: number): readonly [string, number] {
  const whole = matchAt(comment, html, at)?.[0] ?? '<';
  return [whole, at + whole.length];
}

/**
 * Returns a start tag, with the text of an element that holds only text. A tag without an end takes the rest of the
 * page.
 */
function tag(
  html: string,
  { at, name, mend }: { readonly at: number; readonly name: string; readonly mend: LinkMender },
): readonly [string, number] {
  const inside = at + 1 + name.length;
  const close = tagEnd(html, inside);
  if (close === undefined) return [html.slice(at), html.length];
  const element = name.toLowerCase();
  const end = textElements.has(element) ? textEnd(html, element, close + 1) : close + 1;
  return [formatTag(element, html.slice(inside, close), mend) + html.slice(close + 1, end), end];
}

/**
 * Returns the position of the ">" outside quotes. It uses a loop, because a pattern would backtrack over a whole page
 * that has none.
 */
function tagEnd(html: string, from: number): number | undefined {
  for (let at = from; at < html.length; at++) {
    const character = html[at];
    if (character === '>') return at;
    if (character !== '"' && character !== "'") continue;
    at = html.indexOf(character, at + 1);
    if (at < 0) return undefined;
  }
  return undefined;
}

function textEnd(html: string, name: string, from: number): number {
  for (let at = html.indexOf('</', from); at >= 0; at = html.indexOf('</', at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() === name) return at;
  }
  return html.length;
}

function formatTag(name: string, rest: string, mend: LinkMender): string {
  const links = linkAttributes.get(name) ?? [];
  const attributes = [...rest.matchAll(attribute)].map(([, key = '', ...values]) => {
    const value = unescapeHtml(values.find((text) => text !== undefined) ?? '');
    const known = key.toLowerCase();
    return ` ${known}="${escapeHtml(links.includes(known) ? mend(value) : value)}"`;
  });
  return `<${name}${attributes.join('')}${/\/\s*$/.test(rest) ? '/' : ''}>`;
}

const named: ReadonlyMap<string, string> = new Map([
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&apos;', "'"],
]);

function unescapeHtml(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|apos|#(\d{1,6})|#x([0-9a-f]{1,5}));/gi, (entity, decimal, hex) => {
    if (decimal === undefined && hex === undefined) return named.get(entity.toLowerCase()) ?? entity;
    return String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
  });
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ["'", '&#39;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&#34;'],
]);

function escapeHtml(text: string): string {
  return text.replace(/[&'<>"]/g, (character) => escapes.get(character) ?? character);
}
