// Says what is wrong with a Content-Type, in the words of Go. Used for the bodies of clients (http/exchange/negotiation.ts) and for the answers
// of webhooks (webhook/webhook-answer.ts). Source: mime.ParseMediaType.

/** Matches a parameter: a name, and a word or a quoted text. */
const parameterOf =
  /[\t-\r ]*;[\t-\r ]*([\w!#$%&'*+.^`{|}~-]+)[\t-\r ]*=[\t-\r ]*(?:([\w!#$%&'*+.^`{|}~-]+)|"((?:[^"\\\r\n]|\\[^\r\n])*)")/y;
/** A backslash escapes only these characters; before any other it is a plain backslash. */
const escaped = /\\([()<>@,;:\\"/[\]?=])/g;
/** Matches "type/subtype", of which anything may be missing. */
const nameOf = /^([\w!#$%&'*+.^`{|}~-]*)(\/?)([\w!#$%&'*+.^`{|}~-]*)/;

/** Returns Go's text for a header that is no media type; undefined = it is one. */
export function mediaTypeFault(header: string): string | undefined {
  const end = header.indexOf(';');
  const name = (end < 0 ? header : header.slice(0, end)).trim();
  const [whole = '', type = '', slash = '', subtype = ''] = nameOf.exec(name) ?? [];
  if (type === '') return 'mime: no media type';
  if (slash === '') return whole === name ? parametersFault(header) : 'mime: expected slash after first token';
  if (subtype === '') return 'mime: expected token after slash';
  return whole === name ? parametersFault(header) : 'mime: unexpected content after media subtype';
}

/** True when Go can read the parameters: none occurs twice with different values; the last one may be missing. */
export function hasWellFormedParameters(header: string): boolean {
  return parametersFault(header) === undefined;
}

function parametersFault(header: string): string | undefined {
  const start = header.indexOf(';');
  if (start < 0) return undefined;
  const values = new Map<string, string>();
  let end = start;
  for (;;) {
    parameterOf.lastIndex = end;
    const found = parameterOf.exec(header);
    if (found === null)
      return /^[\t-\r ]*(?:;[\t-\r ]*)?$/.test(header.slice(end)) ? undefined : 'mime: invalid media parameter';
    const [, name = '', word, quoted = ''] = found;
    const key = name.toLowerCase();
    const value = word ?? quoted.replaceAll(escaped, '$1');
    if ((values.get(key) ?? value) !== value) return 'mime: duplicate parameter name';
    values.set(key, value);
    end = parameterOf.lastIndex;
  }
}
