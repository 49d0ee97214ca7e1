// A tunnel through a SOCKS5 proxy (RFC 1928, login by RFC 1929), as in client-go for proxy-url "socks5://…". The proxy
// resolves names.
import { connect, isIP, type Socket } from 'node:net';
import type { TunnelOptions } from './proxy-tunnel.ts';

const version = 5;
const methods = { none: 0, login: 2 } as const;
const addressTypes = { ipv4: 1, name: 3, ipv6: 4 } as const;

/** Meanings of the proxy's reply codes; 0 is success. */
const refusals: readonly string[] = [
  '',
  'general SOCKS server failure',
  'connection not allowed by ruleset',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
];

/** Returns a socket connected to the server. Rejects when the proxy cannot be reached or refuses. */
export async function socksTunnel({ proxyUrl, server, timeoutMs, signal }: TunnelOptions): Promise<Socket> {
  const proxy = new URL(proxyUrl);
  const socket = connect({ host: unbracketed(proxy.hostname), port: Number(proxy.port || 1080), noDelay: true });
  socket.setTimeout(timeoutMs, () => {
    const message = `socks connect: no answer from the proxy within ${timeoutMs} ms`;
    socket.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
  });
  const onAbort = (): void => {
    socket.destroy();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const answers = new Answers(socket);
    signal.throwIfAborted();
    await negotiate(socket, answers, proxy);
    socket.write(connectRequest(server));
    const [, code = 1, , type] = await answers.take(4);
    if (code !== 0) throw refused(refusals[code] ?? `unknown code ${code}`);
    // Skips the address and port that the proxy uses.
    const length = type === addressTypes.name ? ((await answers.take(1))[0] ?? 0) : type === addressTypes.ipv6 ? 16 : 4;
    await answers.take(length + 2);
    answers.release();
    socket.setTimeout(0);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function negotiate(socket: Socket, answers: Answers, { username, password }: URL): Promise<void> {
  const offered = username ? [methods.none, methods.login] : [methods.none];
  socket.write(Buffer.of(version, offered.length, ...offered));
  const [spoken, method] = await answers.take(2);
  if (spoken !== version) throw refused('the proxy does not speak SOCKS5');
  if (method === methods.none) return;
  if (method !== methods.login || !username) throw refused('no acceptable authentication methods');
  const [user, secret] = [username, password].map((text) => Buffer.from(decodeURIComponent(text)));
  if (user === undefined || secret === undefined || user.length > 255 || secret.length > 255)
    throw refused('invalid username/password');
  socket.write(Buffer.concat([Buffer.of(1, user.length), user, Buffer.of(secret.length), secret]));
  if ((await answers.take(2))[1] !== 0) throw refused('username/password authentication failed');
}

function connectRequest(server: URL): Buffer {
  const port = Number(server.port || (server.protocol === 'https:' ? 443 : 80));
  const head = Buffer.of(version, 1, 0);
  return Buffer.concat([head, address(unbracketed(server.hostname)), Buffer.of(port >> 8, port & 255)]);
}

function address(host: string): Buffer {
  if (isIP(host) === 4) return Buffer.of(addressTypes.ipv4, ...host.split('.').map(Number));
  if (isIP(host) === 6) return Buffer.concat([Buffer.of(addressTypes.ipv6), ipv6Bytes(host)]);
  const name = Buffer.from(host);
  return Buffer.concat([Buffer.of(addressTypes.name, name.length), name]);
}

// A URL holds the address in short form: hexadecimal groups, "::" at most once.
function ipv6Bytes(host: string): Buffer {
  const [left = '', right] = host.split('::');
  const groups = (text: string | undefined): string[] => (text ? text.split(':') : []);
  const missing = right === undefined ? 0 : 8 - groups(left).length - groups(right).length;
  const all = [...groups(left), ...Array.from({ length: missing }, () => '0'), ...groups(right)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function refused(why: string): Error {
  return Object.assign(new Error(`socks connect: ${why}`), { code: 'ECONNREFUSED' });
}

/** Reads exactly the expected bytes, because everything after them belongs to the server. */
class Answers {
  readonly #socket: Socket;
  readonly #onError = (error: Error): void => this.#fail(error);
  readonly #onClose = (): void => this.#fail(refused('the proxy ended the connection'));
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('readable', this.#onReadable);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
    socket.on('end', this.#onClose);
  }

  async take(bytes: number): Promise<Buffer> {
    for (;;) {
      const chunk = this.#error === undefined ? (this.#socket.read(bytes) as Buffer | null) : null;
      // At the end of the stream, read() returns the rest.
      if (chunk !== null && chunk.length === bytes) return chunk;
      if (chunk !== null) this.#onClose();
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  release(): void {
    this.#socket.off('readable', this.#onReadable);
    this.#socket.off('close', this.#onClose);
    this.#socket.off('end', this.#onClose);
    this.#socket.off('error', this.#onError);
  }

  readonly #onReadable = (): void => this.#wake?.();

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }
}
