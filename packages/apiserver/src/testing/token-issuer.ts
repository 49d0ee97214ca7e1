// TestIssuer: an issuer of JSON Web Tokens over HTTPS with its own keys, for tests.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose';
import { selfSigned } from './self-signed.ts';

export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function issuerKey(kid: string, alg: string = 'ES256'): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid } };
}

/** Returns a token of these claims. `kid` "" = the token names no key. */
export async function signedToken(claims: unknown, { kid, alg, privateKey }: IssuerKey): Promise<string> {
  const header = { alg, ...(kid === '' ? {} : { kid }) };
  return new CompactSign(Buffer.from(JSON.stringify(claims))).setProtectedHeader(header).sign(privateKey);
}

type Handler = (request: IncomingMessage, response: ServerResponse) => boolean;

export class TestIssuer {
  readonly ca: string;
  /** Keys that the issuer publishes; change the list to rotate them. */
  keys: IssuerKey[] = [];
  /** Paths that were requested. */
  readonly requests: string[] = [];
  /** Headers of the key set. */
  keyHeaders: Record<string, string> = {};
  /** Called before the usual answer; true = it has answered, or will not. */
  handle: Handler = () => false;
  readonly #server: Server;
  readonly #port: number;

  /** Without names, its certificate contains "localhost" only as the common name. */
  static async start(port: number = 0, { hasNames = true } = {}): Promise<TestIssuer> {
    const { cert, key } = hasNames ? await selfSigned('CN=issuer') : await selfSigned('CN=localhost', 'none');
    const server = createServer({ cert, key });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new TestIssuer(cert, server);
  }

  private constructor(ca: string, server: Server) {
    this.ca = ca;
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#answer(request, response));
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.requests.push(path);
    if (this.handle(request, response)) return;
    const json = (value: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    };
    if (path === '/keys') json({ keys: this.keys.map(({ jwk }) => jwk) }, this.keyHeaders);
    else if (path === '/.well-known/openid-configuration') json({ issuer: this.url, jwks_uri: `${this.url}/keys` });
    // A document for another issuer, whose URL is in the path.
    else if (path.startsWith('/of/')) json({ issuer: decodeURIComponent(path.slice(4)), jwks_uri: `${this.url}/keys` });
    else response.writeHead(404).end('not here');
  }
}
