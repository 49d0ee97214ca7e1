// RequestAccess determines the sender of a request, the user as whom it is served, and whether it is allowed. It sits
// between the limits and the handlers of request-chain.ts. Source: apiserver
// endpoints/filters/{authentication,authorization}.go, filters/impersonation.

import { type Clock, isForbidden, type Logger, parseFieldSelector, parseLabelSelector } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import { isPromiseLike, messageOf, type ParsedSelector, parseLongLabelSelector } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { type AuthenticationOptions, authenticate, isAnonymous } from '../../authn/authenticator.ts';
import { type CertificateAuthorities, ClientCertificates } from '../../authn/client-certificate.ts';
import type { ClientAuthorities } from '../../authn/client-verification.ts';
import { readImpersonation, type WantedUser } from '../../authn/impersonation.ts';
import { Impersonator } from '../../authn/impersonator.ts';
import { requestHeaderAuthenticator } from '../../authn/request-header.ts';
import { RequestHeaderNames } from '../../authn/request-header-names.ts';
import {
  type AuthorizationAttributes,
  type Authorizer,
  forbiddenError,
  withoutMarkup,
} from '../../authz/authorizer.ts';
import { parsedTerms } from '../../authz/selector-terms.ts';
import type { MaybePromise } from '../../registry/definition/first-decision.ts';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { RequestInfo, ResourceRequest } from '../exchange/request-info.ts';
import { sendText } from '../exchange/status-response.ts';
import { webSocketProtocolsOf } from '../watch/websocket-watch.ts';
import type { AccessMetrics } from './access-metrics.ts';

export interface RequestAccessPorts {
  readonly authentication: AuthenticationOptions;
  readonly authorizer: Authorizer;
  /** Authorities that sign client certificates. Absent = no client certificates are requested. */
  readonly clientAuthorities: ClientAuthorities | undefined;
  readonly metrics: AccessMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class RequestAccess {
  readonly #ports: RequestAccessPorts;
  readonly #authorizer: Authorizer;
  readonly #impersonator: Impersonator;
  readonly #certificates: ClientCertificates;
  readonly #authentication: AuthenticationOptions;
  /** Long parsed selectors, kept as long as their requests. */
  readonly #selectors = new WeakMap<RequestInfo, ParsedSelector>();

  constructor(ports: RequestAccessPorts) {
    const { authorizer, clientAuthorities = [], metrics, clock } = ports;
    this.#ports = ports;
    const { requestHeader, authenticators } = ports.authentication;
    this.#certificates = new ClientCertificates({ authorities: clientAuthorities, frontProxies: requestHeader, clock });
    const frontProxy = requestHeader && requestHeaderAuthenticator(new RequestHeaderNames(requestHeader));
    const all = frontProxy === undefined ? authenticators : [frontProxy, ...authenticators];
    this.#authentication = { ...ports.authentication, authenticators: all };
    this.#authorizer = metrics.ofRequests(authorizer);
    this.#impersonator = new Impersonator(metrics.ofImpersonations(authorizer), {
      clock,
      onAttempt: (record) => metrics.addImpersonation(record),
    });
  }

  /** Reads new certificate authorities; the returned function puts them to use. Throws when they are invalid. */
  authorities(next: CertificateAuthorities): () => void {
    return this.#certificates.authorities(next);
  }

  /** Returns undefined when no authenticator knows the credentials or they could not be checked. */
  async authenticate(exchange: Exchange): Promise<UserInfo | undefined> {
    const user = await this.#ask(exchange);
    // Anonymous clients may not keep costly HTTP/2 connections. Source: UnauthenticatedHTTP2DOSMitigation.
    if (exchange.isHttp2 && (user === undefined || isAnonymous(user))) exchange.endConnection();
    return user;
  }

  /** Reads a long label selector in slices, once for all uses during the request. Returns undefined for a short one. */
  readSelector(info: RequestInfo): Promise<void> | undefined {
    if (info.type === 'path' || info.labelSelector === '') return undefined;
    const reading = runInTurns(parseLongLabelSelector(info.labelSelector));
    return reading === undefined ? undefined : this.#holdSelector(info, reading);
  }

  async #holdSelector(info: RequestInfo, reading: ParsedSelector | Promise<ParsedSelector | undefined>): Promise<void> {
    const parsed = await reading;
    if (parsed !== undefined) this.#selectors.set(info, parsed);
  }

  /** Returns the user as whom to serve the request: the sender, or the user to impersonate. Throws 403. */
  actAs(exchange: Exchange, info: RequestInfo, user: UserInfo): MaybePromise<UserInfo> {
    const wanted = readImpersonation(exchange);
    return wanted === undefined ? user : this.#impersonate(exchange, askedOf(info, user), wanted);
  }

  async #impersonate(exchange: Exchange, asked: AuthorizationAttributes, wanted: WantedUser): Promise<UserInfo> {
    const { clock } = this.#ports;
    const startMs = clock.monotonicNow();
    try {
      const { user: other, constraint } = await this.#impersonator.impersonate(wanted, asked);
      exchange.audit?.impersonate(other, constraint);
      return other;
    } finally {
      exchange.audit?.spend('impersonation', clock.monotonicNow() - startMs);
    }
  }

  /** Returns false when the check failed and the error has been sent. Throws 403. */
  async authorize(exchange: Exchange, info: RequestInfo, user: UserInfo): Promise<boolean> {
    const { logger, clock } = this.#ports;
    const attributes = askedOf(info, user);
    const { audit } = exchange;
    const startMs = clock.monotonicNow();
    try {
      const answer = this.#authorizer.authorize(attributes);
      const { decision, reason, error } = isPromiseLike(answer) ? await answer : answer;
      if (decision !== 'allow' && error !== undefined) throw error;
      audit?.annotate('authorization.k8s.io/decision', decision === 'allow' ? 'allow' : 'forbid');
      audit?.annotate('authorization.k8s.io/reason', reason);
      if (decision === 'allow') return true;
      exchange.setHeader('X-Content-Type-Options', 'nosniff');
      throw forbiddenError(attributes, reason);
    } catch (error) {
      if (isForbidden(error)) throw error;
      audit?.annotate('authorization.k8s.io/reason', 'internal error');
      logger.error('permission could not be checked', { path: exchange.path, error: textOf(error) });
      sendInternalError(exchange, textOf(error));
      return false;
    } finally {
      audit?.spend('authorization', clock.monotonicNow() - startMs);
    }
  }

  /**
   * Checks that the user may do another verb on the same object. `describe` makes the text of the 403 from the
   * authorizer's reason. Source: pkg/registry/core/pod/rest/authorize.go.
   */
  async requireVerb(
    { info, user }: { readonly info: ResourceRequest; readonly user: UserInfo },
    verb: string,
    describe: (reason: string) => string = (reason) => reason,
  ): Promise<void> {
    if (info.verb === verb) return;
    const { decision, reason, error } = await this.#ports.authorizer.authorize({ ...attributesOf(info, user), verb });
    if (error !== undefined) throw error;
    if (decision !== 'allow') throw forbidden(info, info.name, describe(reason));
  }

  async #ask(exchange: Exchange): Promise<UserInfo | undefined> {
    const { metrics, logger } = this.#ports;
    const authorization = exchange.header('authorization');
    const webSocketProtocols = webSocketProtocolsOf(exchange);
    const credentials = {
      remarks: {
        warn: (text: string) => void exchange.earlyWarnings.push(text),
        annotate: (key: string, value: string) => void exchange.earlyAnnotations.push([key, value]),
      },
      authorization,
      webSocketProtocols,
      path: exchange.path,
      ...this.#certificates.credentialsOf(exchange.socket),
      forwarded: this.#certificates.isFrontProxy(exchange.socket) ? exchange : undefined,
    };
    try {
      const asked = metrics.authenticated(() => authenticate(credentials, this.#authentication));
      const user = asked instanceof Promise ? await asked : asked;
      return typeof user === 'string' ? undefined : user;
    } catch (error) {
      logger.error('credentials could not be checked', { error: textOf(error) });
      return undefined;
    }
  }
}

/** Returns the request as authorizers see it. */
export function attributesOf(info: RequestInfo, user: UserInfo): AuthorizationAttributes {
  if (info.type === 'path') return { type: 'path', user, verb: info.verb, path: info.path };
  const { verb, group, version, namespace, resource, subresource, name } = info;
  return { type: 'resource', user, verb, group, version, namespace, resource, subresource, name };
}

/** Adds the selectors that limit a request for several objects. Source: filters.GetAuthorizerAttributes. */
function askedOf(info: RequestInfo, user: UserInfo): AuthorizationAttributes {
  const attributes = attributesOf(info, user);
  if (info.type === 'path' || attributes.type === 'path') return attributes;
  const fieldSelector = parsedTerms(info.fieldSelector, (text) => parseFieldSelector(text).requirements);
  const labelSelector = parsedTerms(info.labelSelector, (text) => parseLabelSelector(text).requirements);
  if (fieldSelector === undefined && labelSelector === undefined) return attributes;
  return { ...attributes, fieldSelector, labelSelector };
}

/** Answers a plain 500, as filters do. Source: responsewriters.InternalError. */
export function sendInternalError(exchange: Exchange, why: string): void {
  sendText(exchange, 500, withoutMarkup(`Internal Server Error: ${JSON.stringify(exchange.url)}: ${why}\n`));
}

function textOf(error: unknown): string {
  return messageOf(error);
}
