// Bearer tokens of an OpenID Connect issuer, refreshed shortly before they expire: kubeconfig's auth-provider "oidc".

import type { Clock, Logger } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import { readConfigFile } from '../connection/config-file.ts';
import { proxyFromEnvironment } from '../connection/proxy.ts';
import { Agent, type Dispatcher, ProxyAgent } from '../connection/undici.ts';
import type { Credentials, RequestHeaders } from './credentials.ts';

/** Tokens of an OpenID Connect issuer. */
export interface OidcTokens {
  readonly idToken: string;
  /** The token for the next refresh; an issuer may return a new one each time. */
  readonly refreshToken: string;
}

/** The settings of an `oidc` user of a kubeconfig. */
export interface OidcConfig {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly idToken?: string;
  readonly refreshToken?: string;
  /** Certificate authority for the issuer, PEM. Default: Node's list. */
  readonly ca?: string;
  readonly caFile?: string;
  /** Saves new tokens for the next process. A failure is logged, and the tokens are used anyway. */
  readonly persist?: (tokens: OidcTokens) => void | Promise<void>;
}

export interface OidcOptions {
  readonly oidc: OidcConfig;
  readonly clock: Clock;
  readonly logger: Logger;
}

// Source of the leeway and of the texts: client-go plugin/pkg/client/auth/oidc.
const expiryLeewayMs = 10_000;
const answerTimeoutMs = 30_000;

export class OidcTokenSource implements Credentials {
  readonly #options: OidcOptions;
  #idToken: string;
  #refreshToken: string;
  #refreshing: Promise<RequestHeaders> | undefined;
  /** Connection of the refresh in progress. */
  #connection: Dispatcher | undefined;
  #isStopped = false;
  /** The way in which this issuer accepts the client's secret, once one has worked. */
  #secretIn: 'header' | 'body' | undefined;

  /** Throws TypeError for a configuration with which no token can be obtained. */
  constructor(options: OidcOptions) {
    checkOidcConfig(options.oidc);
    this.#options = options;
    this.#idToken = options.oidc.idToken ?? '';
    this.#refreshToken = options.oidc.refreshToken ?? '';
  }

  headers(): RequestHeaders | Promise<RequestHeaders> {
    const isValid = this.#idToken !== '' && this.#options.clock.now() + expiryLeewayMs < expiryMs(this.#idToken);
    return isValid ? bearer(this.#idToken) : this.#refresh();
  }

  async onUnauthorized(used: RequestHeaders): Promise<boolean> {
    if (used.authorization !== bearer(this.#idToken).authorization) return true;
    if (this.#refreshToken === '') return false;
    await this.#refresh();
    return true;
  }

  /** Ends a refresh in progress and prevents further ones. */
  stop(): void {
    this.#isStopped = true;
    this.#connection?.destroy().catch(() => undefined);
  }

  // Atomic: only one refresh at a time, shared by all callers, because a refresh token may be valid for one use only.
  #refresh(): Promise<RequestHeaders> {
    this.#refreshing ??= this.#run().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #run(): Promise<RequestHeaders> {
    const { oidc, logger } = this.#options;
    if (this.#refreshToken === '') throw new Error('No valid id-token, and cannot refresh without refresh-token');
    const dispatcher = await issuerConnection(oidc);
    this.#connection = dispatcher;
    try {
      if (this.#isStopped) throw new Error('the client is closed');
      const endpoint = await tokenEndpoint(dispatcher, oidc.issuerUrl);
      const answer = await this.#askForTokens(dispatcher, endpoint);
      const { id_token: idToken, refresh_token: refreshToken } = answer;
      if (typeof idToken !== 'string' || idToken === '')
        throw new Error(
          'token response did not contain an id_token, either the scope "openid" wasn\'t requested upon login, or the provider doesn\'t support id_tokens as part of the refresh response',
        );
      this.#idToken = idToken;
      if (typeof refreshToken === 'string' && refreshToken !== '') this.#refreshToken = refreshToken;
    } finally {
      this.#connection = undefined;
      await (this.#isStopped ? dispatcher.destroy() : dispatcher.close());
    }
    try {
      await oidc.persist?.({ idToken: this.#idToken, refreshToken: this.#refreshToken });
    } catch (error) {
      logger.error('could not persist new tokens', { error });
    }
    return bearer(this.#idToken);
  }

  // Tries the secret in the header first, then in the body, as golang.org/x/oauth2 does.
  async #askForTokens(dispatcher: Dispatcher, endpoint: string): Promise<Record<string, unknown>> {
    const ways = this.#secretIn === undefined ? (['header', 'body'] as const) : [this.#secretIn];
    let failure = '';
    for (const way of ways) {
      const answer = await send(dispatcher, endpoint, this.#tokenRequest(way));
      if (answer.status >= 200 && answer.status <= 299) {
        this.#secretIn = way;
        return jsonObject(answer.body, 'failed to refresh token: the answer is not a JSON object');
      }
      failure = oauthError(answer);
    }
    throw new Error(`failed to refresh token: oauth2: ${failure}`);
  }

  #tokenRequest(way: 'header' | 'body'): TokenRequest {
    const { clientId, clientSecret = '' } = this.#options.oidc;
    const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: this.#refreshToken });
    if (way === 'body') form.set('client_id', clientId);
    if (way === 'body' && clientSecret !== '') form.set('client_secret', clientSecret);
    const login = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    const authorization = way === 'header' ? { authorization: `Basic ${Buffer.from(login).toString('base64')}` } : {};
    return {
      body: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...authorization },
    };
  }
}

/** Throws TypeError with client-go's texts. */
export function checkOidcConfig({ issuerUrl, clientId }: OidcConfig): void {
  if (!issuerUrl) throw new TypeError('Must provide idp-issuer-url');
  if (!clientId) throw new TypeError('Must provide client-id');
  if (!URL.canParse(issuerUrl)) throw new TypeError(`idp-issuer-url ${JSON.stringify(issuerUrl)} is not a URL`);
}

interface TokenRequest {
  readonly body: string;
  readonly headers: Record<string, string>;
}

interface IssuerAnswer {
  readonly status: number;
  readonly body: string;
}

async function issuerConnection({ issuerUrl, ca, caFile }: OidcConfig): Promise<Dispatcher> {
  const trusted = ca ?? (caFile ? await readConfigFile(caFile, 'oidc.caFile') : undefined);
  const tls = { ca: trusted };
  const limits = { headersTimeout: answerTimeoutMs, bodyTimeout: answerTimeoutMs };
  const uri = proxyFromEnvironment(new URL(issuerUrl), process.env);
  if (uri !== undefined) return new ProxyAgent({ ...limits, uri, requestTls: tls });
  return new Agent({ ...limits, connect: { ...tls, timeout: answerTimeoutMs } });
}

async function tokenEndpoint(dispatcher: Dispatcher, issuerUrl: string): Promise<string> {
  const wellKnown = `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { status, body } = await send(dispatcher, wellKnown);
  if (status !== 200)
    throw new Error(`oidc: failed to query metadata endpoint ${status}: ${JSON.stringify(body.slice(0, 80))}`);
  const { token_endpoint: endpoint } = jsonObject(body, 'oidc: failed to decode provider discovery object');
  if (typeof endpoint !== 'string' || endpoint === '')
    throw new Error("oidc: discovery object doesn't contain a token_endpoint");
  return endpoint;
}

async function send(dispatcher: Dispatcher, url: string, post?: TokenRequest): Promise<IssuerAnswer> {
  const { origin, pathname, search } = new URL(url);
  const { statusCode, body } = await dispatcher.request({
    origin,
    path: `${pathname}${search}`,
    method: post === undefined ? 'GET' : 'POST',
    headers: { accept: 'application/json', ...post?.headers },
    body: post?.body ?? null,
  });
  return { status: statusCode, body: await body.text() };
}

function oauthError({ status, body }: IssuerAnswer): string {
  const value = parseOrUndefined(body);
  const { error, error_description: description } = isJsonObject(value) ? value : {};
  if (typeof error !== 'string') return `cannot fetch token: ${status}`;
  return typeof description === 'string'
    ? `${JSON.stringify(error)} ${JSON.stringify(description)}`
    : JSON.stringify(error);
}

/** Returns milliseconds since 1970; 0 for a token without an expiry. Only the API server can tell whether the token is genuine. */
function expiryMs(idToken: string): number {
  const parts = idToken.split('.');
  if (parts.length !== 3) throw new Error('ID Token is not a valid JWT');
  const payload = Buffer.from(parts[1] ?? '', 'base64url').toString('utf8');
  const { exp } = jsonObject(payload, 'parsing claims: the payload of the ID Token is not a JSON object');
  return typeof exp === 'number' ? exp * 1000 : 0;
}

function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

function jsonObject(text: string, message: string): Record<string, unknown> {
  const value = parseOrUndefined(text);
  if (!isJsonObject(value)) throw new Error(message);
  return value;
}

// The parser's message is dropped because it quotes the text, which holds secrets.
function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
