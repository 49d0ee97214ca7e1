// Finds the blocks of a PEM text exactly as Go's encoding/pem (1.26) does, because signers use that, and must not find
// another request in the text than the admitted one. It works in one pass, because clients write the text.

export interface PemBlock {
  /** "CERTIFICATE REQUEST" */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly der: Buffer;
}

interface Place {
  readonly at: number;
  /** Index of the end of the line before the END line. */
  readonly endAt: number;
}

const begin = '-----BEGIN ';
const end = '\n-----END ';
const dashes = '-----';

/** Finds blocks in a text of bytes (latin1). Malformed ones are skipped. */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let at = 0;
  for (let endAt = text.indexOf(end); endAt >= 0; endAt = text.indexOf(end, at)) {
    const place = contentPlace(text, { at, endAt });
    // Headers that include the END line end the search, too.
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

/** Returns where the content after the last BEGIN line before this END line starts. */
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
  // Node would also accept text that is not base64.
  if (content.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(content)) return undefined;
  return { type, hasHeaders, der: Buffer.from(content, 'base64') };
}

/** Returns a line without blanks at its end; a carriage return counts as one only before a line feed. */
function lineAt(text: string, at: number): { readonly line: string; readonly next: number } {
  const feed = text.indexOf('\n', at);
  const next = feed < 0 ? text.length : feed + 1;
  let last = feed < 0 ? text.length : feed;
  if (feed > at && text[feed - 1] === '\r') last--;
  while (last > at && (text[last - 1] === ' ' || text[last - 1] === '\t')) last--;
  return { line: text.slice(at, last), next };
}
