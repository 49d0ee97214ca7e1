// Calls an author's functions for one AdmissionRequest and makes the AdmissionResponse. Used by program-hooks.ts,
// for requests over HTTPS and for those of an API server in the same process.
import {
  type DeepReadonly,
  deepCopy,
  isStatusError,
  type KubernetesObject,
  type Logger,
  type Resource,
  type ResourceClient,
  StatusError,
  stringifyJson,
} from '@kapstan/api';
import { badRequest, type FieldError, invalid, invalidField } from '@kapstan/api/errors';
import { type AdmissionHook, type AdmissionRequest, type AdmissionResponse, deepFreeze } from '@kapstan/api/internal';
import type {
  DeclaredHook,
  DefaultsOptions,
  FieldProblem,
  HookContext,
  Validator,
  Validators,
  Verdict,
} from '../builder/hook-types.ts';
import { objectPatch } from './object-patch.ts';

/** Tools that the context of a call holds. */
export interface HookPorts {
  readonly client: ResourceClient;
  readonly logger: Logger;
}

/** Returns the hook as servers call it. */
export function admissionHook(resource: Resource, declared: DeclaredHook, ports: HookPorts): AdmissionHook {
  const { type, name, operations, options } = declared;
  const { reinvocationPolicy } = options as DefaultsOptions;
  const { failurePolicy, matchPolicy, matchConditions, namespaceSelector, objectSelector, timeoutSeconds } = options;
  return {
    name,
    type,
    resource,
    rule: {
      operations,
      subresource: options.subresource ?? '',
      failurePolicy,
      matchPolicy,
      matchConditions,
      namespaceSelector,
      objectSelector,
      sideEffects: options.sideEffects ?? 'None',
      timeoutSeconds,
      reinvocationPolicy,
    },
    review: (request, { signal }) => new AdmissionCall({ resource, declared, ports, request, signal }).run(),
  };
}

type Request = AdmissionRequest<KubernetesObject>;

interface CallParts {
  readonly resource: Resource;
  readonly declared: DeclaredHook;
  readonly ports: HookPorts;
  readonly request: Request;
  readonly signal: AbortSignal;
}

class AdmissionCall {
  readonly #parts: CallParts;
  readonly #warnings: string[] = [];
  readonly #audit = new Map<string, string>();

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** Rejects when the function fails. */
  async run(): Promise<AdmissionResponse> {
    const { resource, declared, request } = this.#parts;
    requireOwnKind(resource, request);
    try {
      const response = declared.type === 'mutating' ? await this.#defaulted() : await this.#validated();
      return { ...response, ...this.#notes() };
    } catch (error) {
      if (!isStatusError(error)) throw error;
      return { allowed: false, status: error.status, ...this.#notes() };
    }
  }

  async #defaulted(): Promise<AdmissionResponse> {
    const { request, declared } = this.#parts;
    const { object } = request;
    if (object === null || declared.functions.defaults === undefined) return { allowed: true };
    const copy = deepCopy(object);
    const answered = await declared.functions.defaults(copy, this.#context());
    const changed = answered === undefined ? copy : requireReturned(answered);
    const operations = objectPatch(object, changed);
    if (operations.length === 0) return { allowed: true };
    const patch = Buffer.from(stringifyJson(operations)).toString('base64');
    return { allowed: true, patch, patchType: 'JSONPatch' };
  }

  async #validated(): Promise<AdmissionResponse> {
    const { request, declared, resource } = this.#parts;
    const object = request.operation === 'DELETE' ? request.oldObject : request.object;
    const validate = validatorOf(declared.functions.validates, request.operation);
    // The deletion of a collection may arrive without an object from an older server.
    if (object === null || validate === undefined) return { allowed: true };
    const verdict = await validate(deepFreeze(deepCopy(object)) as DeepReadonly<KubernetesObject>, this.#context());
    const refusal = refusalOf((verdict ?? undefined) as Verdict, { resource, request, object });
    return refusal === undefined ? { allowed: true } : { allowed: false, status: refusal.status };
  }

  #context(): HookContext {
    const { request, ports, signal, declared } = this.#parts;
    const { object: _object, oldObject, ...described } = request;
    const { namespace, name } = request;
    return {
      operation: request.operation,
      old: oldObject === null ? undefined : deepFreeze(deepCopy(oldObject)),
      user: request.userInfo,
      isDryRun: request.dryRun,
      request: described,
      signal,
      client: ports.client,
      log: loggerWith(ports.logger, { webhook: declared.name, namespace, name }),
      warn: (text) => void this.#warnings.push(String(text)),
      audit: (key, value) => void this.#audit.set(String(key), String(value)),
    };
  }

  #notes(): Pick<AdmissionResponse, 'warnings' | 'auditAnnotations'> {
    return {
      ...(this.#warnings.length > 0 && { warnings: this.#warnings }),
      ...(this.#audit.size > 0 && { auditAnnotations: Object.fromEntries(this.#audit) }),
    };
  }
}

/** A hand-written configuration may send other kinds here. */
function requireOwnKind({ group, kind, version }: Resource, { kind: asked, subResource = '' }: Request): void {
  const isOwn = asked.group === group && asked.kind === kind && asked.version === version;
  if (isOwn || subResource !== '') return;
  const told = `${asked.group}/${asked.version}, Kind=${asked.kind}`;
  throw badRequest(`this webhook is for ${group}/${version}, Kind=${kind}, not for ${told}`);
}

function requireReturned(answered: unknown): object {
  if (typeof answered === 'object' && answered !== null && !Array.isArray(answered)) return answered;
  throw new TypeError(`the function of defaults() returned ${typeof answered}: return nothing or an object`);
}

function validatorOf(
  validates: Validator<KubernetesObject> | Validators<KubernetesObject> | undefined,
  operation: string,
): Validator<KubernetesObject> | undefined {
  if (typeof validates === 'function' || validates === undefined) return validates;
  const name = operation.toLowerCase() as keyof Validators<KubernetesObject>;
  // The API server sends the present object with every update.
  return validates[name]?.bind(validates) as Validator<KubernetesObject> | undefined;
}

interface Judged {
  readonly resource: Resource;
  readonly request: Request;
  readonly object: DeepReadonly<KubernetesObject>;
}

/** Returns undefined when the verdict allows. A text is Forbidden, as a plain error is in controller-runtime. */
function refusalOf(verdict: Verdict, { resource, request, object }: Judged): StatusError | undefined {
  if (verdict === undefined || verdict.length === 0) return undefined;
  if (typeof verdict === 'string') return new StatusError({ code: 403, reason: 'Forbidden', message: verdict });
  if (!Array.isArray(verdict)) throw new TypeError('the function of validates() returned neither a text nor a list');
  const { metadata } = object;
  return invalid(resource, request.name ?? metadata?.name ?? metadata?.generateName ?? '', verdict.map(fieldErrorOf));
}

function fieldErrorOf(problem: FieldProblem): FieldError {
  if ('type' in problem) return problem;
  return invalidField(problem.path, problem.value, problem.detail);
}

function loggerWith(logger: Logger, fields: Readonly<Record<string, unknown>>): Logger {
  return {
    debug: (message, more) => logger.debug(message, { ...fields, ...more }),
    info: (message, more) => logger.info(message, { ...fields, ...more }),
    warn: (message, more) => logger.warn(message, { ...fields, ...more }),
    error: (message, more) => logger.error(message, { ...fields, ...more }),
  };
}
