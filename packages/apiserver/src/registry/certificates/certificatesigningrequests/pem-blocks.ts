// The blocks of a PEM text, as Go's encoding/pem finds them: what stands between and around them does not count. In one pass, as
// the text is a client's: no part of it is looked through twice.

export interface PemBlock {
  /** "CERTIFICATE REQUEST" */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly der: Buffer;
}

const begin = '-----BEGIN ';
const end = '-----END ';
const dashes = '-----';

/** What is malformed is passed over. */
export function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let at = text.indexOf(begin);
  let endAt = -1;
  while (at >= 0) {
    const lineEnd = text.indexOf('\n', at);
    // Not before it is passed: that would be the quadratic way.
    if (endAt < at) endAt = text.indexOf(end, at);
    if (lineEnd < 0 || endAt < 0) break;
    const line = text.slice(at, lineEnd).trimEnd();
    const type = line.slice(begin.length, -dashes.length);
    const isBlock = lineEnd < endAt && line.endsWith(dashes) && text.startsWith(`${type}${dashes}`, endAt + end.length);
    const block = isBlock ? blockOf(type, text.slice(lineEnd + 1, endAt)) : undefined;
    if (block !== undefined) blocks.push(block);
    at = text.indexOf(begin, isBlock ? endAt : lineEnd);
  }
  return blocks;
}

function blockOf(type: string, body: string): PemBlock | undefined {
  const lines = body.split('\n');
  const first = lines.findIndex((line) => !line.includes(':'));
  const content = lines
    .slice(first < 0 ? lines.length : first)
    .join('')
    .replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(content)) return undefined;
  return { type, hasHeaders: first !== 0, der: Buffer.from(content, 'base64') };
}
