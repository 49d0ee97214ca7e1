// Parses the media types of the headers Accept and Content-Type as the libraries below kube-apiserver do. Source:
// munnerz/goautoneg, Go's mime.ParseMediaType.

export interface MediaType {
  /** "application" or "*". Lower case. */
  readonly type: string;
  readonly subtype: string;
  readonly parameters: ReadonlyMap<string, string>;
}

export interface AcceptHeader {
  /** The clauses, the most preferred first; equally preferred ones in the given order. */
  readonly media: readonly MediaType[];
  /** The types as they were sent, without parameters. */
  readonly types: readonly string[];
}

/** The headers parsed last. Clients send the same few headers again and again. */
const known = new Map<string, AcceptHeader>();
const mostKnown = 100;
const longestKnown = 500;

export function parseAccept(header: string): AcceptHeader {
  const parsed = known.get(header) ?? {
    media: parseClauses(header),
    types: header.split(',').map((clause) => (clause.split(';')[0] ?? '').trim()),
  };
  if (known.size >= mostKnown && !known.has(header)) known.clear();
  if (header.length <= longestKnown) known.set(header, parsed);
  return parsed;
}

function parseClauses(header: string): readonly MediaType[] {
  const clauses: { readonly media: MediaType; readonly quality: number }[] = [];
  for (const text of header.split(',')) {
    const media = parseMediaType(text);
    if (media === undefined) continue;
    const quality = Number(media.parameters.get('q') ?? '1');
    clauses.push({ media, quality: Number.isNaN(quality) ? 1 : quality });
  }
  return clauses.sort((a, b) => b.quality - a.quality || wildcards(a.media) - wildcards(b.media)).map((c) => c.media);
}

/**
 * Parses one media type with its parameters; undefined when there is none. Names are in lower case, values unchanged.
 */
function parseMediaType(text: string): MediaType | undefined {
  const [full = '', ...rest] = text.split(';');
  const [type = '', subtype] = full.trim().toLowerCase().split('/');
  if (type === '' || (subtype === undefined && type !== '*')) return undefined;
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const at = parameter.indexOf('=');
    const value = parameter.slice(at + 1).trim();
    // A parameter without a value is skipped.
    if (at < 0 || value === '') continue;
    parameters.set(parameter.slice(0, at).trim().toLowerCase(), value.replace(/^"(.*)"$/, '$1'));
  }
  return { type, subtype: subtype ?? '*', parameters };
}

/** Returns the type of a header value without its parameters, for example "application/json". */
export function essenceOf(header: string): string {
  return (header.split(';')[0] ?? '').trim().toLowerCase();
}

/** Matches a parameter: a name, and a word or a quoted text. */
const parameterOf =
  /[\t-\r ]*;[\t-\r ]*([\w!#$%&'*+.^`{|}~-]+)[\t-\r ]*=[\t-\r ]*(?:([\w!#$%&'*+.^`{|}~-]+)|"((?:[^"\\\r\n]|\\[^\r\n])*)")/y;
/** A backslash escapes only these characters; before any other it is a plain backslash. */
const escaped = /\\([()<>@,;:\\"/[\]?=])/g;

/**
 * True when Go can read the parameters: none occurs twice with different values; the last one may be missing. Source:
 * mime.ParseMediaType.
 */
export function hasWellFormedParameters(header: string): boolean {
  const start = header.indexOf(';');
  if (start < 0) return true;
  const values = new Map<string, string>();
  let end = start;
  for (;;) {
    parameterOf.lastIndex = end;
    const found = parameterOf.exec(header);
    if (found === null) return /^[\t-\r ]*(?:;[\t-\r ]*)?$/.test(header.slice(end));
    const [, name = '', word, quoted = ''] = found;
    const key = name.toLowerCase();
    const value = word ?? quoted.replaceAll(escaped, '$1');
    if ((values.get(key) ?? value) !== value) return false;
    values.set(key, value);
    end = parameterOf.lastIndex;
  }
}

function wildcards(media: MediaType): number {
  return (media.type === '*' ? 2 : 0) + (media.subtype === '*' ? 1 : 0);
}
