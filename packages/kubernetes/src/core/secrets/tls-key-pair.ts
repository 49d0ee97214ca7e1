// Checks that a certificate and a key match, with Go's texts. Used for warnings of TLS secrets. Source: crypto/tls
// X509KeyPair.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

interface PemBlock {
  readonly type: string;
  readonly text: string;
}

/** Returns the reason why they do not match; undefined when they do. */
export function keyPairFault(certificate: string, key: string): string | undefined {
  const certificateBlocks = pemBlocks(certificate);
  const leaf = certificateBlocks.find(({ type }) => type === 'CERTIFICATE');
  if (leaf === undefined) return noCertificate(certificateBlocks.map(({ type }) => type));
  const keyBlocks = pemBlocks(key);
  const at = keyBlocks.findIndex(({ type }) => /^(?:.* )?PRIVATE KEY$/.test(type));
  const own = keyBlocks[at];
  if (own === undefined) return noKey(keyBlocks.map(({ type }) => type));
  const read = parsed(() => new X509Certificate(leaf.text));
  if (read === undefined) return 'x509: malformed certificate';
  const pair = parsed(() => createPrivateKey(own.text));
  if (pair === undefined) return 'tls: failed to parse private key';
  return mismatch(read, pair);
}

function mismatch(certificate: X509Certificate, key: KeyObject): string | undefined {
  if (certificate.publicKey.asymmetricKeyType !== key.asymmetricKeyType)
    return 'tls: private key type does not match public key type';
  return certificate.checkPrivateKey(key) ? undefined : 'tls: private key does not match public key';
}

function noCertificate(skipped: readonly string[]): string {
  if (skipped.length === 0) return 'tls: failed to find any PEM data in certificate input';
  if (skipped.length === 1 && skipped[0]?.endsWith('PRIVATE KEY') === true)
    return 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${skipped.join(' ')}]`;
}

function noKey(skipped: readonly string[]): string {
  if (skipped.length === 0) return 'tls: failed to find any PEM data in key input';
  if (skipped.length === 1 && skipped[0] === 'CERTIFICATE')
    return 'tls: found a certificate rather than a key in the PEM for the private key';
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${skipped.join(' ')}]`;
}

function parsed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

const [begin, end, dashes] = ['-----BEGIN ', '-----END ', '-----'];

/** Finds all blocks in one pass, however many are begun and not ended. */
function pemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let ending = -1;
  for (let at = text.indexOf(begin); at !== -1; at = text.indexOf(begin, at + 1)) {
    if (ending < at) ending = text.indexOf(end, at);
    if (ending === -1) break;
    const [type = ''] = text.slice(at + begin.length, Math.min(ending, at + 100)).split(dashes, 1);
    const last = `${end}${type}${dashes}`;
    if (!text.startsWith(last, ending)) continue;
    blocks.push({ type, text: text.slice(at, ending + last.length) });
    at = ending;
  }
  return blocks;
}
