// The blocks of a PEM text, exactly as Go's encoding/pem (1.26) finds them: who signs reads the text with that, and must not find
// another request in it than the one that was admitted. In one pass, as the text is a client's: no part of it is looked through twice.

export interface PemBlock {
  /** "CERTIFICATE REQUEST" */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly der: Buffer;
}

interface Place {
  readonly at: number;
  /** Of the line's end before the END line. */
  readonly endAt: number;
}

const begin = '-----BEGIN ';
const end = '\n-----END ';
const dashes = '-----';

/** Of a text of bytes (latin1). What is malformed is passed over. */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let at = 0;
  for (let endAt = text.indexOf(end); endAt >= 0; endAt = text.indexOf(end, at)) {
    const place = contentPlace(text, { at, endAt });
    // Headers that take the END line in as well end the search.
    if (place !== undefined && place.at > endAt + 1) break;
    const block = place === undefined ? undefined : blockAt(text, place);
    if (block !== undefined) blocks.push(block);
    at = block === undefined ? endAt + end.length : lineAt(text, endAt + 1).next;
  }
  return blocks;
}

interface ContentPlace extends Place {
  readonly type: string;
  readonly hasHeaders: boolean;
}

/** Where the content starts that belongs to the last BEGIN line before the END line. */
function contentPlace(text: string, { at, endAt }: Place): ContentPlace | undefined {
  const offset = text.slice(at, endAt).lastIndexOf(begin);
  const beginAt = at + offset;
  if (offset < 0 || (offset > 0 && text[beginAt - 1] !== '\n')) return undefined;
  const { line, next } = lineAt(text, beginAt + begin.length);
  if (!line.endsWith(dashes)) return undefined;
  let contentAt = next;
  while (contentAt <= endAt + 1) {
    const header = lineAt(text, contentAt);
    if (!header.line.includes(':')) break;
    contentAt = header.next;
  }
  return { at: contentAt, endAt, type: line.slice(0, -dashes.length), hasHeaders: contentAt > next };
}

function blockAt(text: string, { at, endAt, type, hasHeaders }: ContentPlace): PemBlock | undefined {
  if (hasHeaders && at > endAt) return undefined;
  const trailer = `${type}${dashes}`;
  const trailerAt = endAt + end.length;
  if (!text.startsWith(trailer, trailerAt) || lineAt(text, trailerAt + trailer.length).line !== '') return undefined;
  const content = text.slice(at, Math.max(at, endAt)).replaceAll(/[ \t\r\n]/g, '');
  // Node takes what is no base64 as well.
  if (content.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(content)) return undefined;
  return { type, hasHeaders, der: Buffer.from(content, 'base64') };
}

/** Without the blanks at its end; a carriage return is one of them only before a line feed. */
function lineAt(text: string, at: number): { readonly line: string; readonly next: number } {
  const feed = text.indexOf('\n', at);
  const next = feed < 0 ? text.length : feed + 1;
  let last = feed < 0 ? text.length : feed;
  if (feed > at && text[feed - 1] === '\r') last--;
  while (last > at && (text[last - 1] === ' ' || text[last - 1] === '\t')) last--;
  return { line: text.slice(at, last), next };
}
