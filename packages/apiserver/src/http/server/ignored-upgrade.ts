// Rebuilds a request whose offer of another protocol is ignored, as if it had made none. Used by http-server.ts.
import type { IncomingMessage } from 'node:http';

const offers: ReadonlySet<string> = new Set(['upgrade', 'http2-settings']);

/** Returns the head of the request as bytes, to be read again. */
export function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [rawHeaders[i], rawHeaders[i + 1]];
    if (offers.has(name.toLowerCase())) continue;
    const kept = name.toLowerCase() === 'connection' ? withoutOffers(value) : value;
    if (kept !== '' || value === '') lines.push(`${name}: ${kept}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

function withoutOffers(connection: string): string {
  const options = connection.split(',').map((option) => option.trim());
  return options.filter((option) => !offers.has(option.toLowerCase())).join(', ');
}
